import { Api } from '../api'
import { COMMON_USAGE, type Command, parsed } from '../command'
import { Misused } from '../control-client'
import { asJson, printed, usd } from '../print'
import { table } from '../table'

const PATHS = { images: '/apis/v1/websearch/images/search', context: '/apis/v1/websearch/llm/context' } as const

export const SEARCH: Command = {
  name: 'search',
  summary: 'searches images, or context for a language model',
  usage: `images|context WORDS... [--count N] [--country XX] [--param NAME=VALUE]... [--max-price USD] [--quote]

  --param      any other parameter of the route, such as freshness=pw
  --max-price  refuse when it would cost more
  --quote      tells the price; searches nothing

${COMMON_USAGE}`,
  words: ['images', 'context'],
  async run(args, terminal) {
    const { values, positionals } = parsed(args, {
      count: { type: 'string' },
      country: { type: 'string' },
      param: { type: 'string', multiple: true },
      'max-price': { type: 'string' },
      quote: { type: 'boolean' },
    })
    const [kind, ...rest] = positionals
    if (kind !== 'images' && kind !== 'context')
      throw new Misused('"search" takes images or context, then the words; see --help')
    if (rest.length === 0) throw new Misused(`"search ${kind}" takes the words to search for`)
    const query = new URLSearchParams({ q: rest.join(' ') })
    if (values.count !== undefined) query.set('count', values.count)
    if (values.country !== undefined) query.set('country', values.country)
    for (const one of values.param ?? []) {
      const at = one.indexOf('=')
      if (at < 1) throw new Misused(`--param takes NAME=VALUE, not "${one}"`)
      query.append(one.slice(0, at), one.slice(at + 1))
    }
    const headers = {
      ...(values['max-price'] !== undefined && { 'x-max-price-usd': values['max-price'] }),
      ...(values.quote && { 'x-cost-mode': 'quote' }),
    }
    const api = await Api.open(terminal, values)
    const answer = await api.send('GET', `${PATHS[kind]}?${query}`, { headers })
    const cost = answer.headers.get('x-cost-micros-usd')
    const body = Object((await answer.json()) as unknown) as Record<string, unknown>
    printed(terminal, values, body, () => {
      if (values.quote) return asJson(body)
      return kind === 'images' ? images(body) : context(body)
    })
    if (!values.json && cost !== null) terminal.err(`Cost ${usd(Number(cost))} USD\n`)
  },
}

function images(body: Record<string, unknown>): string {
  const results = list(body['results'])
  if (results.length === 0) return 'Nothing found.\n'
  return table(
    ['TITLE', 'PAGE', 'IMAGE'],
    results.map((one) => [
      oneLine(one['title']).slice(0, 50),
      oneLine(one['url']),
      oneLine(Object(one['properties'])['url'] ?? Object(one['thumbnail'])['src']),
    ]),
  )
}

function context(body: Record<string, unknown>): string {
  const sources = list(Object(body['grounding'])['generic'])
  if (sources.length === 0) return asJson(body)
  return sources
    .map(
      (one) =>
        `${oneLine(one['title'])}\n${oneLine(one['url'])}\n\n${list0(one['snippets']).map(String).join('\n\n')}\n`,
    )
    .join('\n---\n\n')
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.map((one) => Object(one) as Record<string, unknown>) : []
}

function list0(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function oneLine(value: unknown): string {
  return String(value ?? '')
    .replace(/\s+/g, ' ')
    .trim()
}
