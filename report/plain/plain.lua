-- Filter of the plain engine: does for the subset in README.md what Quarto does, for HTML and for Typst.
-- First pass: number chapters, sections, figures and tables, and build figures, tables and callouts.
-- Second pass: resolve @fig-, @tbl- and @sec-, and fail on a label that does not exist.

local typst = FORMAT == "typst"
local NAMES = { fig = "Figure", tbl = "Table" }
local CALLOUTS = { note = "Note", tip = "Tip", warning = "Warning", important = "Important", caution = "Caution" }
local texts = {} -- label -> text of a reference to it; false where it has no number, by which Quarto could name it
local counts = {} -- numbers of the headings above the current block, by level
local tally = {} -- kind -> figures or tables so far in this chapter
local numbered = false -- is the current chapter?
local paper = false -- one document, whose figures are counted through?

-- One line that the caller turns into an error: where, what, its value, the rule.
local function fail(where, field, value, rule)
  io.stderr:write(table.concat({ "tierwise-error", where, field, value, rule }, "\t"), "\n")
  os.exit(65)
end

local function register(label, text, where)
  if texts[label] ~= nil then
    fail(where, "label", label, "stands in more than one place")
  end
  texts[label] = text
end

local function number_heading(heading, where)
  if heading.level == 1 then
    tally, numbered = paper and tally or {}, not heading.classes:includes("unnumbered")
  end
  if not numbered then
    heading.classes:insert("unnumbered")
  else
    for level = 1, heading.level do
      counts[level] = counts[level] or 0
    end
    counts[heading.level] = counts[heading.level] + 1
    for level = heading.level + 1, 6 do
      counts[level] = nil
    end
  end
  local number = numbered and table.concat(counts, ".", 1, heading.level)
  if number and not typst then
    heading.attributes.number = number -- Pandoc would count each page from 1
  end
  if heading.identifier:match("^sec%-") then
    register(heading.identifier, number and (heading.level == 1 and not paper and "Chapter\u{a0}" or "Section\u{a0}") .. number, where)
  end
  return heading
end

-- A box that scrolls by itself; a table of many columns is not squeezed below a width that can be read.
local function scrolling(tbl)
  return pandoc.Div({ tbl }, pandoc.Attr("", { "table-box", #tbl.colspecs > 3 and "wide" or "narrow" }))
end

-- A div with a label: the body, then one paragraph that is the caption.
local function build_float(div, where)
  local kind, caption = div.identifier:sub(1, 3), div.content[#div.content]
  if not numbered then
    fail(where, "label", div.identifier, "stands in a chapter without a number")
  end
  if #div.content < 2 or caption.t ~= "Para" then
    fail(where, "label", div.identifier, "needs a body and then a paragraph with its caption")
  end
  tally[kind] = (tally[kind] or 0) + 1
  local name = NAMES[kind] .. "\u{a0}" .. (paper and "" or counts[1] .. ".") .. tally[kind]
  register(div.identifier, name, where)
  div.content:remove()
  local line = pandoc.Inlines({ pandoc.Strong(name .. "."), pandoc.Space() }) .. caption.content
  if typst and div.content[1].t == "Table" then
    local tbl = div.content[1]
    tbl.caption.long, tbl.identifier = { pandoc.Plain(line) }, div.identifier
    return { tbl }
  elseif typst and kind == "tbl" then -- a sentence in a table's place
    local open = pandoc.Inlines({ pandoc.RawInline("typst", "#figure(kind: table, caption: [") }) .. line
    open:insert(pandoc.RawInline("typst", "], ["))
    return pandoc.Blocks({ pandoc.Plain(open) }) .. div.content .. { pandoc.RawBlock("typst", "]) <" .. div.identifier .. ">") }
  end
  local body = div.content[1].t == "Table" and { scrolling(div.content[1]) } or div.content
  return { pandoc.Figure(body, { pandoc.Plain(line) }, pandoc.Attr(div.identifier, { kind })) }
end

local function build_callout(div, kind)
  local title = pandoc.Inlines({ CALLOUTS[kind] })
  if div.content[1].t == "Header" then
    title = div.content:remove(1).content
  end
  if typst then
    local open = pandoc.Plain({ pandoc.RawInline("typst", "#callout(title: [") })
    open.content:extend(title)
    open.content:insert(pandoc.RawInline("typst", "], body: ["))
    return pandoc.Blocks({ open }) .. div.content .. { pandoc.RawBlock("typst", "])") }
  end
  local heading = pandoc.Div({ pandoc.Plain(title) }, pandoc.Attr("", { "callout-title" }))
  div.content:insert(1, heading)
  div.classes:insert(1, "callout")
  return { div }
end

local function build(block, where)
  if block.t == "Header" then
    return { number_heading(block, where) }
  elseif block.t == "Table" and not typst then
    return { scrolling(block) }
  elseif block.t ~= "Div" then
    return { block }
  end
  if NAMES[block.identifier:match("^(%a+)%-") or ""] then
    return build_float(block, where)
  end
  for kind in pairs(CALLOUTS) do
    if block.classes:includes("callout-" .. kind) then
      return build_callout(block, kind)
    end
  end
  return { block }
end

local function reference(cite, where)
  local out, ours = pandoc.Inlines({}), 0
  for _, citation in ipairs(cite.citations) do
    local kind = citation.id:match("^(%a+)%-")
    if NAMES[kind] or kind == "sec" then
      if not texts[citation.id] then
        local rule = texts[citation.id] == nil and "no figure, table or section has this label" or "a section without a number cannot be referred to"
        fail(where, "reference", "@" .. citation.id, rule)
      end
      ours = ours + 1
      if ours > 1 then
        out:insert(pandoc.Str(", "))
      end
      out:insert(pandoc.Link(texts[citation.id], "#" .. citation.id, "", pandoc.Attr("", { "xref" })))
    end
  end
  if ours > 0 and ours < #cite.citations then
    fail(where, "reference", pandoc.utils.stringify(cite), "mixes labels and citations")
  end
  return ours > 0 and out or nil
end

-- The caller wraps each chapter in a div that names its file; pages.lua unwraps it.
function Pandoc(doc)
  paper = doc.meta.paper or false
  for _, chapter in ipairs(doc.blocks) do
    local blocks = pandoc.Blocks({})
    for _, block in ipairs(chapter.content) do
      blocks:extend(build(block, chapter.attributes.file))
    end
    chapter.content = blocks
  end
  return pandoc.Pandoc(doc.blocks:map(function(chapter)
    return chapter:walk({
      Cite = function(cite)
        return reference(cite, chapter.attributes.file)
      end,
    })
  end), doc.meta)
end
