-- Filter of both engines: a verdict or a substrate in bold becomes a mark, the name of a query, of a file of rows or of a PDF a link to it.

local VERDICTS = { confirmed = true, contradicted = true, undecided = true, reported = true, ["not testable"] = true,
  ["not measured"] = true, ["no verdict"] = true, assumed = true }
local SUBSTRATES = { measured = true, emulated = true, simulated = true, published = true, mixed = true }

function Strong(strong)
  local word = pandoc.utils.stringify(strong)
  local mark = VERDICTS[word] and "verdict" or SUBSTRATES[word] and "substrate"
  if not mark then
    return nil
  elseif FORMAT:match("typst") then
    return pandoc.RawInline("typst", "#" .. mark .. '("' .. word .. '")')
  end
  return pandoc.Span(word, pandoc.Attr("", { mark, (word:gsub(" ", "-")) }))
end

function Code(code)
  local query = code.text:match("^studies/.+%.sql$") or code.text:match("^analysis/.+%.sql$") or code.text:match("^asked/.+%.sql$")
  local target = query and "sql/" .. query .. ".txt" or code.text:match("^rows/[%w_-]+%.csv$") or code.text:match("^tierwise[%w-]*%.pdf$")
  if target and FORMAT:match("html") then
    return pandoc.Link({ pandoc.Code(code.text) }, target)
  end
end
