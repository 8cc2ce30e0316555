import type {
  ApiChange,
  ApiImport,
  ApiList,
  ApiRecord,
  ApiTrial,
  CatalogFile,
  CatalogPlan,
  ImportPlan,
  OneApi,
} from '../../http/apis/record'
import type { ApiReport } from '../../http/apis/report-record'
import { parsedArgsWith } from '../command'
import { askServer, UsageError } from '../control-client'
import { asJson } from '../print'
import { table } from '../table'
import { applyText, importText, operationTable, reportText, trialText } from './api-text'
import { bundledDocument } from './bundle-document'
import { readSource, readValue, writtenYaml } from './value-file'

export const API_LEGEND = `  AUTH is none, header:NAME=SECRET, query:NAME=SECRET, bearer:SECRET, basic:SECRET, oauth2:TOKEN_URL;client=ID;secret=SECRET
  or 402:PAYEE,PAYEE; SECRET is env:UPSTREAM_NAME, a variable of the server. PRICE is USD per call such as 0.01, or JSON.`

export const API_HELP = `  api import FILE|URL --name NAME --base URL [--auth AUTH] [--price PRICE] [--prices FILE]
             [--only "GET /v1/forecast"]... [--disabled] [--dry-run] [--yes]
                                            sell the operations of an OpenAPI document, or bring an API up to date with it
  api list                                  list the APIs
  api show NAME                             show an API, its operations and prices
  api report                                what each API brought in over 30 days, and what the wallet signed for upstreams
  api set NAME [--title T] [--base URL] [--auth AUTH] [--timeout-ms N] [--concurrency N] [--cache-seconds N] [--file FILE]
                                            change an API; FILE holds changes as in PATCH /api/operator/apis/NAME
  api set NAME.OPERATION [--price PRICE] [--cost USD] [--pay-per-request on|off] [--title T]
                                            change an operation; --pay-per-request: whether it is sold without an account (402)
  api test NAME.OPERATION [--input JSON]    ask the upstream once, free: its answer, the counted units and the price
  api enable|disable NAME[.OPERATION]       put an API or an operation on sale, or take it off
  api lift NAME[.OPERATION] [--account ID]  open what was closed because its upstream claimed more than the maximum
  api remove NAME                           remove an API; its name is not free for 30 days
  api export [NAME]                         print the catalog as YAML, to keep and to apply
  apply FILE [--dry-run] [--yes]            make the catalog what FILE says (docs/sell-your-api.md)

${API_LEGEND}`

/** Asks a person at the terminal. False where there is none. */
export type Confirm = (question: string) => boolean

/** Runs an `operator api` command. Resolves to its output. */
export async function apiCommand(args: readonly string[], ask: Confirm): Promise<string> {
  const { values, positionals } = parsed(args)
  const [command, target = '', ...more] = positionals
  if (more.length > 0) throw new UsageError(`"operator api ${command}" takes one argument; see --help`)
  switch (command) {
    case 'list':
      return printedAnswer<ApiList>(values, await askServer('apis', {}), listText)
    case 'show':
      return printedAnswer<OneApi>(values, await askServer('api-show', { name: named(target) }), changedText)
    case 'report':
      return printedAnswer<ApiReport>(values, await askServer('api-report', {}), reportText)
    case 'set':
      return printedAnswer<OneApi>(values, await change(target, await changeOf(target, values)), changedText)
    case 'enable':
    case 'disable': {
      const enabled = command === 'enable'
      const { operation } = split(target)
      const body = operation === null ? { enabled } : { operations: [{ id: operation, enabled }] }
      return printedAnswer<OneApi>(values, await change(target, body), ({ notices }) =>
        lines([`${target} is ${command}d.`, ...notices]),
      )
    }
    case 'lift': {
      const { name, operation } = split(target)
      const { account } = values
      const body = { name, ...(operation !== null && { operation }), ...(account !== undefined && { account }) }
      return printedAnswer<OneApi>(values, await askServer('api-lift', body), ({ closed }) =>
        closed.length === 0 ? `Nothing of ${name} is closed.\n` : lines(closedLines(closed)),
      )
    }
    case 'remove':
      await askServer('api-remove', { name: named(target) })
      return values.json ? asJson({ name: target }) : `Removed ${target}. Its name is free again in 30 days.\n`
    case 'test': {
      const { name, operation } = split(target)
      if (operation === null) throw new UsageError('"operator api test" takes NAME.OPERATION; see --help')
      const input = values.input === undefined ? {} : json('--input', values.input)
      return printedAnswer<ApiTrial>(values, await askServer('api-test', { name, operation, input }), trialText)
    }
    case 'export':
      return exported(await askServer('api-export', {}), target, values.json === true)
    case 'import':
      return importDocument(target, values, ask)
    default:
      throw new UsageError(`unknown command "operator api ${command ?? ''}"; see --help`)
  }
}

function printedAnswer<T>({ json }: Values, answer: unknown, text: (answer: T) => string): string {
  return json ? asJson(answer) : text(answer as T)
}

/** Runs `operator apply`. */
export async function applyCommand(args: readonly string[], ask: Confirm): Promise<string> {
  const { values, positionals } = parsed(args)
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw new UsageError('"operator apply" takes one file; see --help')
  const catalog = await readValue(file)
  const plan = (await askServer('apply', { catalog, dry_run: true })) as CatalogPlan
  const changes = plan.apis.some(({ action }) => action !== 'unchanged')
  const removes = plan.apis.some(({ action, removed }) => action === 'remove' || removed.length > 0)
  if (values['dry-run'] || !changes) return values.json ? asJson(plan) : applyText(plan)
  if (removes && !values.yes && !ask(`${applyText(plan)}\nThis removes what is on sale. Do it?`))
    return `${applyText(plan)}\nNothing was changed. To do this, add --yes.\n`
  const done = (await askServer('apply', { catalog, confirm: plan.confirm })) as CatalogPlan
  return values.json ? asJson(done) : applyText(done)
}

const FLAGS = {
  account: { type: 'string' },
  auth: { type: 'string' },
  base: { type: 'string' },
  'cache-seconds': { type: 'string' },
  concurrency: { type: 'string' },
  cost: { type: 'string' },
  disabled: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  file: { type: 'string' },
  input: { type: 'string' },
  json: { type: 'boolean' },
  name: { type: 'string' },
  only: { type: 'string', multiple: true },
  'pay-per-request': { type: 'string' },
  price: { type: 'string' },
  prices: { type: 'string' },
  'timeout-ms': { type: 'string' },
  title: { type: 'string' },
  yes: { type: 'boolean' },
} as const

function parsed(args: readonly string[]) {
  return parsedArgsWith(args, FLAGS)
}

type Values = ReturnType<typeof parsed>['values']

async function importDocument(source: string, values: Values, ask: Confirm): Promise<string> {
  if (source === '') throw new UsageError('"operator api import" takes a file or a URL; see --help')
  const { name, base, auth, only } = values
  if (name === undefined) throw new UsageError('"operator api import" needs --name; see --help')
  const isUrl = /^https?:/.test(source)
  const text = await readSource(source)
  const document = isUrl ? text : await bundledDocument(source, text)
  const body: Record<string, unknown> = {
    ...{ name, document },
    ...(isUrl && { origin: source }),
    ...(base !== undefined && { base_url: base }),
    ...(auth !== undefined && { auth }),
    ...(only && { only }),
    ...(values.price !== undefined && { price: priceOf(values.price) }),
    ...(values.prices !== undefined && { prices: await readValue(values.prices) }),
    ...(values.disabled && { enabled: false }),
  } satisfies { [K in keyof ApiImport]?: unknown }
  const send = async (more: object, dry_run: boolean) =>
    (await askServer('api-import', { import: { ...body, ...more }, dry_run })) as ImportPlan
  const plan = await send({}, true)
  if (values['dry-run']) return values.json ? asJson(plan) : importText(plan)
  const changes = plan.added.length + plan.changed.length + plan.removed.length > 0
  if (!plan.is_new && changes && !values.yes && !ask(`${importText(plan)}\nDo this?`))
    return `${importText(plan)}\nNothing was changed. To do this, add --yes.\n`
  const done = await send(plan.is_new ? {} : { confirm: plan.confirm }, false)
  return values.json ? asJson(done) : importText(done)
}

function change(target: string, change: object): Promise<unknown> {
  return askServer('api-set', { name: split(target).name, change })
}

async function changeOf(target: string, values: Values): Promise<ApiChange> {
  const { operation } = split(target)
  const { title, base, auth, price, cost, file } = values
  const payPerRequest = values['pay-per-request']
  const one = {
    ...(title !== undefined && { title }),
    ...(price !== undefined && { price: priceOf(price) }),
    ...(cost !== undefined && { upstream_cost_usd: cost }),
    ...(payPerRequest !== undefined && { pay_per_request: onOff(payPerRequest) }),
  }
  if (operation !== null) return { operations: [{ id: operation, ...one }] } as ApiChange
  if (price !== undefined || cost !== undefined || payPerRequest !== undefined)
    throw new UsageError('--price, --cost and --pay-per-request are of one operation: NAME.OPERATION')
  const { 'timeout-ms': timeout, concurrency, 'cache-seconds': cache } = values
  return {
    ...(file === undefined ? {} : Object(await readValue(file))),
    ...one,
    ...(base !== undefined && { base_url: base }),
    ...(auth !== undefined && { auth }),
    ...(timeout !== undefined && { timeout_ms: Number(timeout) }),
    ...(concurrency !== undefined && { concurrency: Number(concurrency) }),
    ...(cache !== undefined && { cache_seconds: Number(cache) }),
  }
}

/** USD per call, or a price as JSON. */
function priceOf(text: string): ApiRecord['operations'][number]['price'] {
  if (text.trim().startsWith('{')) return json('--price', text) as ApiRecord['operations'][number]['price']
  return { mode: 'fixed', usd: text }
}

function onOff(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new UsageError('--pay-per-request takes on or off')
  return text === 'on'
}

function json(flag: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new UsageError(`${flag} must be JSON`)
  }
}

function named(target: string): string {
  if (target === '') throw new UsageError('the name of an API is missing; see --help')
  return target
}

function split(target: string): { readonly name: string; readonly operation: string | null } {
  const dot = named(target).indexOf('.')
  return dot < 0 ? { name: target, operation: null } : { name: target.slice(0, dot), operation: target.slice(dot + 1) }
}

function exported(answer: unknown, name: string, isJson: boolean): string {
  const { apis } = answer as CatalogFile
  const some = name === '' ? apis : apis.filter((api) => api.name === name)
  if (name !== '' && some.length === 0) throw new UsageError(`there is no API ${name}`)
  return isJson ? asJson({ apis: some }) : writtenYaml({ apis: some })
}

function listText({ apis }: ApiList): string {
  if (apis.length === 0) return 'No APIs. Import one with "operator api import"; see --help.\n'
  return table(
    ['API', 'STATUS', 'ON SALE', 'UPSTREAM', 'AUTH'],
    apis.map((api) => [
      api.name,
      api.enabled ? 'enabled' : 'disabled',
      `${api.enabled_operations} of ${api.operations}`,
      api.base_url,
      api.auth,
    ]),
  )
}

function apiText(api: ApiRecord): string {
  const head = [
    `${api.name} (${api.enabled ? 'enabled' : 'disabled'}): ${api.title}`,
    `${api.base_url}, ${api.auth}, ${api.timeout_ms} ms, ${api.concurrency} at once, cached ${api.cache_seconds} s`,
  ]
  return `${lines(head)}\n${operationTable(api.operations)}`
}

function changedText({ api, notices, closed }: OneApi): string {
  const more = [...closedLines(closed), ...notices]
  return `${apiText(api)}${more.length > 0 ? `\n${lines(more)}` : ''}`
}

function closedLines(closed: OneApi['closed']): string[] {
  return closed.map(
    ({ operation, account, at }) =>
      `${operation} is closed to ${account} since ${at}: its upstream claimed more than the maximum. Open it with "api lift".`,
  )
}

function lines(texts: readonly string[]): string {
  return `${texts.join('\n')}\n`
}
