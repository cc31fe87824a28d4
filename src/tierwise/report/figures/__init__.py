"""The charts, one module a chapter, one theme for all."""
