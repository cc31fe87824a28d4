-- Filter of the Quarto engine: the charts' script, once for the site; in the PDF a table without a label as Pandoc sets it alone, a figure
-- without a caption, which is kept whole as the others are.

function Meta()
  if quarto.doc.is_format("html") then
    quarto.doc.add_html_dependency({
      name = "tierwise-charts",
      version = "1.0.0",
      scripts = { { path = "theme/vega.js", afterBody = true }, { path = "theme/report.js", afterBody = true } },
    })
  end
end

-- What has a label is in a div, which Quarto makes a type of its own: only what stands by itself is a table here.
function Pandoc(doc)
  if not quarto.doc.is_format("typst") then
    return nil
  end
  local blocks = pandoc.Blocks({})
  for _, block in ipairs(doc.blocks) do
    if block.t == "Table" then
      blocks:extend({ pandoc.RawBlock("typst", "#figure(align(center)["), block, pandoc.RawBlock("typst", "], kind: table)") })
    else
      blocks:insert(block)
    end
  end
  doc.blocks = blocks
  return doc
end
