-- Filter of both engines: a verdict in bold becomes a coloured mark, a query's file name a link to the query.

local VERDICTS = { confirmed = true, contradicted = true, undecided = true, reported = true, ["not testable"] = true,
  ["not measured"] = true, ["no verdict"] = true, assumed = true }

function Strong(strong)
  local verdict = pandoc.utils.stringify(strong)
  if not VERDICTS[verdict] then
    return nil
  elseif FORMAT:match("typst") then
    return pandoc.RawInline("typst", '#verdict("' .. verdict .. '")')
  end
  return pandoc.Span(verdict, pandoc.Attr("", { "verdict", (verdict:gsub(" ", "-")) }))
end

function Code(code)
  local query = code.text:match("^analysis/(.+%.sql)$")
  if query and FORMAT:match("html") then
    return pandoc.Link({ pandoc.Code(code.text) }, "sql/" .. query .. ".txt")
  end
end
