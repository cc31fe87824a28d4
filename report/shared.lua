-- Filter of both engines: a verdict or a kind of evidence in bold becomes a mark, the name of a query, of a file of rows or of a PDF a link to it,
-- the first use of a glossary's word in a chapter explains it, and the annex leaves out what is too long to print.

local LONG = 20 -- rows of the longest table that the annex prints, as in src/tierwise/report/display.py

local VERDICTS = { confirmed = true, contradicted = true, undecided = true, reported = true, ["not testable"] = true,
  ["not measured"] = true, ["no verdict"] = true, assumed = true }
local EVIDENCE_KINDS = { measured = true, emulated = true, simulated = true, published = true, mixed = true }

function Strong(strong)
  local word = pandoc.utils.stringify(strong)
  local mark = VERDICTS[word] and "verdict" or EVIDENCE_KINDS[word] and "evidence"
  if not mark then
    return nil
  elseif FORMAT:match("typst") then
    return pandoc.RawInline("typst", "#" .. mark .. '("' .. word .. '")')
  end
  return pandoc.Span(word, pandoc.Attr("", { mark, (word:gsub(" ", "-")) }))
end

function Code(code)
  local query = code.text:match("^studies/.+%.sql$") or code.text:match("^analysis/.+%.sql$")
  local target = query and "sql/" .. query .. ".txt" or code.text:match("^queries/[%w_-]+%.sql$") or code.text:match("^rows/[%w_-]+%.csv$") or code.text:match("^tierwise[%w-]*%.pdf$")
  target = target or code.text:match("^tables/[%w_-]+%.csv$")
  if target and (FORMAT:match("html") or target:match("^tables/")) then
    return pandoc.Link({ pandoc.Code(code.text) }, target)
  end
end

-- Words that are verbs too are explained where one of these stands before them.
local VERBS = { claims = true, pair = true, pairs = true }
local BEFORE = {}
for word in ("a all an another any by clean each every five its no of one other reference same the these this whole"):gmatch("%a+") do
  BEFORE[word] = true
end

local function is_noun(text, before)
  return not VERBS[text] or (before ~= nil and before.t == "Str" and BEFORE[before.text:lower()] == true)
end

-- The word or the two words of the glossary that begin at `i`, without the punctuation around them.
local function term(inlines, i, glossary)
  local one, space, other = inlines[i], inlines[i + 1], inlines[i + 2]
  local before, first, after = one.text:match("^(%p*)(.-)(%p*)$")
  if after == "" and other and other.t == "Str" and (space.t == "Space" or space.t == "SoftBreak") then
    local lead, second, rest = other.text:match("^(%p*)(.-)(%p*)$")
    if lead == "" and glossary[(first .. " " .. second):lower()] then
      return { before = before, text = first .. " " .. second, after = rest, taken = 3 }
    end
  end
  return glossary[first:lower()] and { before = before, text = first, after = after, taken = 1 }
end

local function explain(inlines, glossary, known)
  local out, i = pandoc.Inlines({}), 1
  while i <= #inlines do
    local found = inlines[i].t == "Str" and term(inlines, i, glossary)
    local entry = found and glossary[found.text:lower()]
    if entry and not known[entry.word] and is_noun(found.text:lower(), inlines[i - 2]) then
      known[entry.word] = true
      out:extend({ pandoc.Str(found.before),
        pandoc.Span(found.text, pandoc.Attr("", { "dfn" }, { { "tabindex", "0" }, { "aria-description", entry.meaning } })), pandoc.Str(found.after) })
    else
      found = nil
      out:insert(inlines[i])
    end
    i = i + (found and found.taken or 1)
  end
  return out
end

-- Prose alone: what has a label explains itself in its caption. Quarto keeps the label of such a one in a type of its own.
local function is_prose(div)
  return not div.identifier:match("^%a+%-") and div.attributes.__quarto_custom_type ~= "FloatRefTarget"
end

local function explain_blocks(blocks, glossary, known)
  for _, block in ipairs(blocks) do
    if block.t == "Header" and block.level == 1 then
      known = {}
    elseif block.t == "Para" or block.t == "Plain" then
      block.content = explain(block.content, glossary, known)
    elseif block.t == "BulletList" or block.t == "OrderedList" then
      block.content = block.content:map(function(item) return explain_blocks(item, glossary, known) end)
    elseif block.t == "Div" and is_prose(block) then
      block.content = explain_blocks(block.content, glossary, known)
    end
  end
  return blocks
end

-- A table that is too long to print: its columns, and where its rows are.
local function shorten(tbl)
  local rows = 0
  for _, body in ipairs(tbl.bodies) do
    rows = rows + #body.body
  end
  if rows > LONG then
    local note = pandoc.Plain(pandoc.Inlines(rows .. " rows: on the site, and in the file that the caption names."))
    tbl.bodies = { tbl.bodies[1] }
    tbl.bodies[1].body = { pandoc.Row({ pandoc.Cell({ note }, pandoc.AlignLeft, 1, #tbl.colspecs) }) }
    return tbl
  end
end

local function shorten_labelled(blocks)
  return blocks:walk({
    Table = function(tbl) return tbl.identifier ~= "" and shorten(tbl) or nil end,
    Div = function(div) return div.attributes.__quarto_custom_type == "FloatRefTarget" and div:walk({ Table = shorten }) or nil end,
  })
end

function Pandoc(doc)
  if FORMAT:match("html") then
    local file <close> = assert(io.open("glossary.json"))
    doc.blocks = explain_blocks(doc.blocks, pandoc.json.decode(file:read("a")), {})
    return doc
  elseif not doc.meta.paper then
    doc.blocks = shorten_labelled(doc.blocks)
    return doc
  end
end
