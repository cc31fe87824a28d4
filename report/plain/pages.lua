-- Last filter of the plain engine: unwraps the chapters. For the site (metadata `site`, its folder) it writes each chapter as a page of its
-- own, unless there is to be a `single` one, and assets/search.js: the words of all sections, and on which page each label is.

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
end

-- The words of `blocks`, without formulas and what is written as HTML.
local function words(blocks)
  local out = {}
  local function add(block)
    out[#out + 1] = block.text or pandoc.utils.stringify(block)
  end
  local function gone()
    return {}
  end
  pandoc.Blocks(blocks):walk({ Math = gone }):walk({ traverse = "topdown", Plain = add, Para = add, CodeBlock = add })
  return table.concat(out, " ")
end

-- Each section of a chapter: its label, its number and heading, and the words that are its own.
local function sections(chapter, url)
  local out, own = {}, {}
  for _, block in ipairs(chapter.content) do
    if block.t == "Header" then
      own = pandoc.Blocks({})
      local number = block.attributes.number and block.attributes.number .. " " or ""
      table.insert(out, { url = url .. "#" .. block.identifier, title = number .. pandoc.utils.stringify(block), own = own })
    else
      own[#own + 1] = block
    end
  end
  for _, section in ipairs(out) do
    section.text, section.own = words(section.own), nil
  end
  return out
end

local function labels(chapter, page, places)
  local function note(element)
    if (element.identifier or "") ~= "" then
      places[element.identifier] = page
    end
  end
  chapter:walk({ Block = note, Inline = note })
end

-- A chapter as the contents name it, by its subject, which stands before the colon; of the page that they stand on, with its sections.
local function entry(chapter, page, here)
  local heading = chapter.content:find_if(function(block) return block.t == "Header" end)
  local title, url = pandoc.utils.stringify(heading), page ~= "" and page or "#" .. heading.identifier
  local contents = here and pandoc.structure.table_of_contents(chapter.content, { toc_depth = 2, number_sections = true }).content[1][2]
  return { url = url, number = heading.attributes.number, title = title:match("^(.-): ") or title, here = here or nil, sections = contents or nil }
end

local function link_across(chapter, page, places)
  return chapter:walk({
    Link = function(link)
      local there = places[link.target:match("^#(.+)")]
      if there and there ~= page then
        link.target = there .. link.target
        return link
      end
    end,
  })
end

-- The caption of a table stands before it for every reader: Pandoc would write it behind.
local function caption_first(figure)
  if not figure.classes:includes("tbl") then
    return nil
  end
  local function raw(tags)
    return pandoc.Blocks({ pandoc.RawBlock("html", tags) })
  end
  return raw('<figure id="' .. figure.identifier .. '" class="tbl"><figcaption>') .. figure.caption.long .. raw("</figcaption>")
    .. figure.content .. raw("</figure>")
end

-- One page as HTML, by what the command line says of it: the blocks, and the contents as seen from chapter `at`.
local function html(blocks, meta, chapters, pages, at)
  local meta = pandoc.Meta(meta)
  meta.chapters = {}
  for i, chapter in ipairs(chapters) do
    meta.chapters[i] = entry(chapter, pages[i], i == at)
  end
  if at then
    meta.here, meta.before, meta.after = meta.chapters[at], meta.chapters[at - 1], meta.chapters[at + 1]
  end
  local text = pandoc.write(pandoc.Pandoc(pandoc.Blocks(blocks):walk({ Figure = caption_first }), meta), "html5", PANDOC_WRITER_OPTIONS)
  -- A cell as short as the style sheet lets it be: ten thousand cells are a tenth of the site.
  return (text:gsub('<td style="text%-align: left;">', "<td>"):gsub('<td style="text%-align: right;">', '<td class="r">'))
end

local function write_site(folder, doc, chapters, blocks)
  local pages, places, found = {}, {}, {}
  for i, chapter in ipairs(chapters) do
    pages[i] = doc.meta.single and "" or chapter.attributes.file:gsub("%.qmd$", ".html")
    labels(chapter, pages[i], places)
    for _, section in ipairs(sections(chapter, pages[i])) do
      table.insert(found, section)
    end
  end
  write(folder .. "/assets/search.js", "const BOOK = " .. pandoc.json.encode({ sections = found, places = places }) .. ";\n")
  if doc.meta.single then
    return write(folder .. "/index.html", html(blocks, doc.meta, chapters, pages))
  end
  for i, chapter in ipairs(chapters) do
    write(folder .. "/" .. pages[i], html(link_across(chapter, pages[i], places).content, doc.meta, chapters, pages, i))
  end
end

function Pandoc(doc)
  local blocks = pandoc.Blocks({})
  for _, chapter in ipairs(doc.blocks) do
    blocks:extend(chapter.content)
  end
  if not doc.meta.site then
    return pandoc.Pandoc(blocks, doc.meta)
  end
  write_site(pandoc.utils.stringify(doc.meta.site), doc, doc.blocks, blocks)
  return pandoc.Pandoc({}, doc.meta)
end
