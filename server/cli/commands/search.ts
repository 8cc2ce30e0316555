import { elementsOf } from '../../core/json'
import { ApiClient } from '../api'
import { COMMON_USAGE, type Command, parsedArgs } from '../command'
import { UsageError } from '../control-client'
import { asJson, printed, usdText } from '../print'
import { table } from '../table'

const PATHS = { images: '/apis/v1/websearch/images/search', context: '/apis/v1/websearch/llm/context' } as const

export const SEARCH: Command = {
  name: 'search',
  summary: 'search for images, or for context for a language model',
  usage: `images|context QUERY... [--count N] [--country XX] [--param NAME=VALUE]... [--max-price USD] [--quote]

  --param      any other parameter of the endpoint, such as freshness=pw
  --max-price  do not search if it would cost more
  --quote      show the price without searching

${COMMON_USAGE}`,
  words: ['images', 'context'],
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {
      count: { type: 'string' },
      country: { type: 'string' },
      param: { type: 'string', multiple: true },
      'max-price': { type: 'string' },
      quote: { type: 'boolean' },
    })
    const [kind, ...rest] = positionals
    if (kind !== 'images' && kind !== 'context')
      throw new UsageError('"search" takes images or context, then a query; see --help')
    if (rest.length === 0) throw new UsageError(`"search ${kind}" needs a query; see --help`)
    const query = new URLSearchParams({ q: rest.join(' ') })
    if (values.count !== undefined) query.set('count', values.count)
    if (values.country !== undefined) query.set('country', values.country)
    for (const parameter of values.param ?? []) {
      const at = parameter.indexOf('=')
      if (at < 1) throw new UsageError(`--param takes NAME=VALUE, not "${parameter}"`)
      query.append(parameter.slice(0, at), parameter.slice(at + 1))
    }
    const headers = {
      ...(values['max-price'] !== undefined && { 'x-max-price-usd': values['max-price'] }),
      ...(values.quote && { 'x-cost-mode': 'quote' }),
    }
    const api = await ApiClient.open(terminal, values)
    const answer = await api.send('GET', `${PATHS[kind]}?${query}`, { headers })
    const cost = answer.headers.get('x-cost-micros-usd')
    const body = Object((await answer.json()) as unknown) as Record<string, unknown>
    printed(terminal, values, body, () => {
      if (values.quote) return asJson(body)
      return kind === 'images' ? images(body) : context(body)
    })
    if (!values.json && cost !== null) terminal.err(`Cost ${usdText(Number(cost))} USD\n`)
  },
}

function images(body: Record<string, unknown>): string {
  const results = objects(body['results'])
  if (results.length === 0) return 'No results.\n'
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
  const sources = objects(Object(body['grounding'])['generic'])
  if (sources.length === 0) return asJson(body)
  return sources
    .map(
      (one) =>
        `${oneLine(one['title'])}\n${oneLine(one['url'])}\n\n${elementsOf(one['snippets']).map(String).join('\n\n')}\n`,
    )
    .join('\n---\n\n')
}

function objects(value: unknown): Record<string, unknown>[] {
  return elementsOf(value).map((element) => Object(element) as Record<string, unknown>)
}

function oneLine(value: unknown): string {
  return String(value ?? '')
    .replace(/\s+/g, ' ')
    .trim()
}
