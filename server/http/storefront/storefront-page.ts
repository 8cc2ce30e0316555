import { createHash } from 'node:crypto'
import type { Brand } from '../../core/brand'
import type { CatalogOperation } from '../apis/catalog-record'
import type { PriceRecord } from '../apis/price-record'
import type { ModelRecord } from '../models/record'
import { STOREFRONT_STYLE } from './storefront-style'

/** All that the pages show. */
export interface Shop {
  readonly brand: Brand
  readonly baseUrl: string
  readonly operations: readonly CatalogOperation[]
  readonly models: readonly ModelRecord[]
}

/** More of one kind are behind a link. */
const MAX_ROWS = 12
const MAX_OPERATIONS = 300

/** What is sold, for strangers: readable without JavaScript. */
export function frontPage(shop: Shop): Response {
  const { brand, models, operations } = shop
  const body = `<section class="hero"><h1>${text(brand.sentence)}</h1>
<p>One key and one balance for everything below${operations.some(isPayable) ? ', or no account at all: a call without a key answers 402 with its price, and a wallet pays it' : ''}. Only successful requests cost anything.</p>
<p class="act"><a class="button" href="/sign-up">Create an account</a><a class="quiet" href="/docs">API reference</a><a class="quiet" href="/docs/guide">Guide</a></p></section>
${apiCards(shop)}
${models.length === 0 ? '' : modelTable(models)}
${samples(shop)}
${limits()}`
  return page(shop, { title: brand.name, path: '/', description: brand.sentence, body })
}

/** The operations of one API with their prices; 404 if there is no such API. */
export function apiPage(shop: Shop, name: string): Response {
  const own = shop.operations.filter(({ api }) => api === name)
  const [first] = own
  if (!first) {
    const body =
      '<h1>There is no such API</h1><p>It may have been renamed or removed. <a href="/">See what is on sale</a>.</p>'
    return page(shop, { title: 'There is no such API', path: `/catalogue/${name}`, description: '', body, status: 404 })
  }
  const rows = own.slice(0, MAX_OPERATIONS).map(
    (
      operation,
    ) => `<tr><td><strong>${text(operation.title)}</strong><p>${text(firstSentence(operation.description))}</p></td>
<td><code>${operation.method} ${text(operation.path)}</code></td><td class="price">${text(priceOf(operation))}</td></tr>`,
  )
  const more =
    own.length > rows.length
      ? `<p>${own.length - rows.length} more are in the <a href="/docs">API reference</a>.</p>`
      : ''
  const body = `<p><a href="/">${text(shop.brand.name)}</a></p><h1>${text(first.api_title)}</h1>
<p class="act"><a class="button" href="/sign-up">Create an account</a><a class="quiet" href="/catalogue?q=${encodeURIComponent(name)}">Try it</a><a class="quiet" href="/docs">API reference</a></p>
${table(['Operation', 'Call', 'Price per success'], rows, `Operations of ${first.api_title}`)}${more}`
  const description = `${own.length} ${own.length === 1 ? 'operation' : 'operations'} of ${first.api_title}, paid per successful request.`
  return page(shop, {
    title: `${first.api_title} · ${shop.brand.name}`,
    path: `/catalogue/${encodeURIComponent(name)}`,
    description,
    body,
  })
}

function apiCards({ operations }: Shop): string {
  const byApi = Map.groupBy(operations, ({ api }) => api)
  const cards = [...byApi].map(([name, own]) => {
    const listed = own
      .slice(0, 4)
      .map((one) => `<li><span>${text(one.title)}</span><span class="price">${text(priceOf(one))}</span></li>`)
    const more = own.length > listed.length ? `<li class="muted">and ${own.length - listed.length} more</li>` : ''
    const free = own.some(isPayable) ? '<p class="muted">Also without an account</p>' : ''
    return `<article><h3><a href="/catalogue/${encodeURIComponent(name)}">${text(own[0]?.api_title ?? name)}</a></h3><ul>${listed.join('')}${more}</ul>${free}</article>`
  })
  return `<section aria-labelledby="apis"><h2 id="apis">APIs</h2><div class="cards">${cards.join('')}</div></section>`
}

function modelTable(models: readonly ModelRecord[]): string {
  const rows = models
    .slice(0, MAX_ROWS)
    .map(
      (model) =>
        `<tr><td><code>${text(model.id)}</code></td><td>${text(model.owned_by)}</td><td class="price">${text(modelPrice(model))}</td></tr>`,
    )
  const more =
    models.length > rows.length ? `<p>${models.length - rows.length} more: <code>GET /v1/models</code>.</p>` : ''
  return `<section aria-labelledby="models"><h2 id="models">Models</h2><p>In the formats of OpenAI, Anthropic and Google: change the base URL of the SDK that you have.</p>
${table(['Model', 'Vendor', 'Price'], rows, 'Models and their prices')}${more}</section>`
}

function modelPrice({ pricing }: ModelRecord): string {
  const { input, output, characters, images } = pricing
  if (input === 0 && output === 0) return 'free'
  if (characters === 0 || images?.every(({ usd }) => usd === 0)) return 'free'
  if (input !== undefined && output !== undefined) return `$${input} in, $${output} out per million tokens`
  if (characters !== undefined) return `$${characters} per million characters`
  return images?.[0] ? `from $${Math.min(...images.map(({ usd }) => usd))} per picture` : 'see GET /v1/models'
}

function priceOf({ price: given }: CatalogOperation): string {
  const price = given as PriceRecord // what the catalog writes
  switch (price.mode) {
    case 'fixed':
      return `$${price.usd}`
    case 'units':
      return `$${price.usd} per ${(price.block ?? 1) === 1 ? 'unit' : `${price.block} units`}`
    case 'reported':
      return `as the upstream bills, up to $${price.maximum_usd}`
  }
}

function isPayable({ pay_per_request: payable }: CatalogOperation): boolean {
  return payable
}

function samples({ baseUrl, operations, models }: Shop): string {
  const search = operations.find(({ name }) => name === 'image-search') ?? operations[0]
  if (!search) return ''
  const model = models.find(({ supported_endpoint_types: types }) => types.includes('chat_completions'))
  const call = `${baseUrl}${search.path}${search.name === 'image-search' ? '?q=otters' : ''}`
  const key = `curl '${call}' \\\n  -H 'Authorization: Bearer YOUR_KEY'`
  const sdk = `from openai import OpenAI\n\nclient = OpenAI(base_url="${baseUrl}/v1", api_key="YOUR_KEY")\nclient.chat.completions.create(\n    model="${model?.id}",\n    messages=[{"role": "user", "content": "Hello"}],\n)`
  const wallet = `curl -i '${call}'\n# 402 Payment Required: the price and how to pay it.\n# A wallet that speaks x402 or the Payment scheme pays and gets the answer.`
  const tabs = [
    ['With a key', key],
    ...(model ? [['With an SDK', sdk]] : []),
    ...(operations.some(isPayable) ? [['Without an account', wallet]] : []),
  ]
  const blocks = tabs.map(
    ([name, code]) =>
      `<div><h3>${name}</h3><pre tabindex="0" aria-label="${name}"><code>${text(code ?? '')}</code></pre></div>`,
  )
  return `<section aria-labelledby="calls"><h2 id="calls">How to call</h2><div class="samples">${blocks.join('')}</div></section>`
}

function limits(): string {
  return `<section aria-labelledby="limits"><h2 id="limits">Limits that hold</h2><ul class="facts"><li>Spending limits and budgets per key are exact, also when calls run at once.</li><li>A failed request costs nothing.</li><li>A disabled key is refused on its very next request.</li><li>Each charge is explained, to the millionth of a dollar.</li></ul></section>`
}

function table(heads: readonly string[], rows: readonly string[], caption: string): string {
  const head = heads
    .map((one) => `<th scope="col"${one.startsWith('Price') ? ' class="price"' : ''}>${one}</th>`)
    .join('')
  return `<div class="table" tabindex="0" role="region" aria-label="${text(caption)}"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('')}</tbody></table></div>`
}

interface Shown {
  readonly title: string
  readonly path: string
  readonly description: string
  readonly body: string
  readonly status?: number
}

function page({ brand, baseUrl }: Shop, { title, path, description, body, status = 200 }: Shown): Response {
  const style = `:root{--accent:${brand.accent};--on-accent:${readableOn(brand.accent)}}${STOREFRONT_STYLE}`
  const icon = brand.logo
    ? `<link rel="icon" href="/brand/logo">`
    : '<link rel="icon" type="image/svg+xml" href="/favicon.svg">'
  const logo = brand.logo ? '<img src="/brand/logo" alt="" width="28" height="28">' : ''
  const links = [
    ['Status', '/ready'],
    ['Terms', brand.terms],
    ['Privacy', brand.privacy],
    ['Help', brand.support],
  ].flatMap(([name, to]) => (to ? [`<a href="${text(to)}">${name}</a>`] : []))
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${text(title)}</title>
<meta name="description" content="${text(description || title)}">
<link rel="canonical" href="${text(baseUrl + path)}">
<meta property="og:type" content="website">
<meta property="og:title" content="${text(title)}">
<meta property="og:description" content="${text(description || title)}">
<meta property="og:url" content="${text(baseUrl + path)}">
<meta property="og:site_name" content="${text(brand.name)}">
${brand.logo ? `<meta property="og:image" content="${text(`${baseUrl}/brand/logo`)}">\n` : ''}${icon}
<style>${style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<header><a class="name" href="/">${logo}${text(brand.name)}</a><nav aria-label="Pages"><a href="/docs">API reference</a><a href="/docs/guide">Guide</a><a href="/sign-in">Sign in</a><a class="button" href="/sign-up">Sign up</a></nav></header>
<main id="content">${body}</main>
<footer><nav aria-label="About">${links.join('')}</nav></footer>
</body>
</html>
`
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      vary: 'cookie',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
      'referrer-policy': 'strict-origin-when-cross-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    },
  })
}

/** Black or white: what reads better on a color (WCAG 2.2, relative luminance). */
function readableOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? '#000' : '#fff'
}

function firstSentence(description: string): string {
  return /^.{1,200}?[.!?](?=\s|$)/s.exec(description)?.[0] ?? description.slice(0, 200)
}

function text(raw: string): string {
  return Bun.escapeHTML(raw)
}
