import { createHash } from 'node:crypto'

/** Settings of Scalar: only our own document, no web fonts, no telemetry, none of its vendor's services. */
export function scalarSettings(url: string) {
  return {
    url,
    // The plugin would set its `url`, which Scalar no longer wants there.
    spec: undefined,
    // Our operations have a group "Models".
    modelsSectionLabel: 'Schemas',
    withDefaultFonts: false,
    hideClientButton: true,
    telemetry: false,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
    customCss: '.light-mode{--scalar-color-accent:#1f5fbf}.dark-mode{--scalar-color-accent:#84b1ff}',
  }
}

/** The plugin's page with a language, our icon, and a policy that allows only our own origin. */
export function docsPage(written: string): Response {
  const html = written
    .replace('<html>', '<html lang="en">')
    // From `spec`, too.
    .replace(/\s*data-url="[^"]*"/, '')
    .replace('</head>', '  <link rel="icon" type="image/svg+xml" href="/favicon.svg" />\n  </head>')
  const hashes = inlineScripts(html).map((script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`)
  return page(html, `script-src ${["'self'", ...hashes].join(' ')}`)
}

/** What `/docs` shows if its UI was not built. The OpenAPI document is available regardless. */
export function missingDocsPage(): Response {
  return page(NOT_BUILT, "script-src 'none'", 'no-store')
}

/** The plugin keeps its settings in an inline script without code, which the policy allows by its hash. */
function inlineScripts(html: string): string[] {
  return [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)]
    .filter(([, attributes]) => !/\ssrc=/.test(attributes ?? ''))
    .map(([, , script]) => script ?? '')
}

function page(html: string, scripts: string, cacheControl = 'no-cache'): Response {
  return new Response(html, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': cacheControl,
      'content-security-policy': `default-src 'self'; ${scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src blob:; object-src 'none'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'`,
      'referrer-policy': 'strict-origin-when-cross-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  })
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API documentation</title>
<body style="max-width: 40rem; margin: 3rem auto; padding: 0 1rem; font: 14px/21px system-ui, sans-serif">
<h1 style="font-size: 22px">The API documentation viewer is not installed</h1>
<p>The API documentation is available as <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1) and
<a href="/llms.txt">llms.txt</a> (text).</p>
<p>To read it on this page, start the gateway with <code>bun run up</code>, which installs the viewer.</p>
</body>
</html>
`
