-- Filter of the Quarto engine: the charts' script, once for the site.

function Meta()
  if quarto.doc.is_format("html") then
    quarto.doc.add_html_dependency({
      name = "tierwise-charts",
      version = "1.0.0",
      scripts = { { path = "theme/vega.js", afterBody = true }, { path = "theme/report.js", afterBody = true } },
    })
  end
end
