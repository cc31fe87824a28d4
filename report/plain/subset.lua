-- First filter of the plain engine, which Quarto's route runs too: refuses what the list in README.md does not name,
-- because only that list reads alike in both engines.

local BLOCKS = { Para = true, Plain = true, BulletList = true, OrderedList = true, Table = true, Header = true, Div = true, RawBlock = true,
  CodeBlock = true }
local INLINES = { Str = true, Space = true, SoftBreak = true, Emph = true, Strong = true, Code = true, Link = true, Cite = true,
  Math = true, Quoted = true, Image = true }
local CALLOUTS = { "callout-note", "callout-tip", "callout-warning", "callout-important", "callout-caution" }
local RULE = "is not of the subset that both engines read (report/README.md lists it)"

local function fail(where, field, value, rule)
  io.stderr:write(table.concat({ "tierwise-error", where, field, value, rule or RULE }, "\t"), "\n")
  os.exit(65)
end

local function is_figure(div)
  return div.identifier:match("^fig%-") ~= nil
end

local function check_div(div, where)
  local kinds = #CALLOUTS
  for _, kind in ipairs(CALLOUTS) do
    kinds = kinds - (div.classes:includes(kind) and 1 or 0)
  end
  local label = div.identifier
  if kinds == #CALLOUTS and label ~= "refs" and not label:match("^fig%-") and not label:match("^tbl%-") then
    fail(where, "division", "::: {#" .. label .. " ." .. table.concat(div.classes, " .") .. "}")
  end
end

local function check_heading(heading, where)
  local text = pandoc.utils.stringify(heading)
  if heading.level > 3 then
    fail(where, "heading", text, "has level " .. heading.level .. ": a chapter has levels 1 to 3")
  end
  for _, class in ipairs(heading.classes) do
    if class ~= "unnumbered" then
      fail(where, "heading", text, "has the class " .. class .. ", which " .. RULE)
    end
  end
end

local function check_link(link, where)
  if not link.target:match("^https?://") then
    fail(where, "link", link.target, "must begin with https:// (within the report: @fig-, @tbl-, @sec-)")
  end
end

local function check_image(image, where)
  if not image.src:match("^pictures/[%w_-]+%.svg$") or #image.caption == 0 then
    fail(where, "picture", image.src, "must be a file pictures/NAME.svg, with a text for who does not see it")
  end
end

-- HTML stands in a figure, as its chart, and is the calculator's; raw Typst is for print alone.
local function check_raw(raw, where, in_figure)
  if raw.format ~= "typst" and not (raw.format == "html" and (in_figure or where == "calculator.qmd")) then
    fail(where, "raw block", raw.format)
  end
end

local function check(chapter, where, in_figure)
  chapter:walk({
    traverse = "topdown",
    Block = function(block)
      if not BLOCKS[block.t] then
        fail(where, "element", block.t)
      elseif block.t == "Header" then
        check_heading(block, where)
      elseif block.t == "RawBlock" then
        check_raw(block, where, in_figure)
      elseif block.t == "Div" then
        check_div(block, where)
        if is_figure(block) and not in_figure then
          check(pandoc.Blocks(block.content), where, true)
          return block, false
        end
      end
    end,
    Inline = function(inline)
      if not INLINES[inline.t] then
        fail(where, "element", inline.t)
      elseif inline.t == "Link" then
        check_link(inline, where)
      elseif inline.t == "Image" then
        check_image(inline, where)
      end
    end,
  })
end

-- The caller wraps each chapter in a div that names its file.
function Pandoc(doc)
  for _, chapter in ipairs(doc.blocks) do
    check(pandoc.Blocks(chapter.content), chapter.attributes.file, false)
  end
end
