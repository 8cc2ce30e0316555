import type { ApiChange, ApiImport, ApiRecord, CatalogFile, CatalogPlan, ImportPlan } from '../../http/apis/record'
import { parsedArgsWith, words } from '../command'
import { askServer, UsageError } from '../control-client'
import { asJson } from '../print'
import type { Columns } from '../record-text'
import { applyText, importText } from './api-text'
import { bundledDocument } from './bundle-document'
import type { CommandTools, Given, OperatorCommand } from './operator-command'
import { readSource, readValue, writtenYaml } from './value-file'

const LEGEND = `AUTH is none, header:NAME=SECRET, query:NAME=SECRET, bearer:SECRET, basic:SECRET, oauth2:TOKEN_URL;client=ID;secret=SECRET
or 402:PAYEE,PAYEE; SECRET is env:UPSTREAM_NAME, a variable of the server. PRICE is USD per call such as 0.01, or JSON.\n`

const APIS = '/api/operator/apis'
const API: Columns = { operations: ['id', 'method', 'path', 'price', 'effect', 'enabled'] }

export const API_COMMANDS: readonly OperatorCommand[] = [
  {
    words: 'api import',
    about: 'sell the operations of an OpenAPI document, or bring an API up to date with it',
    legend: LEGEND,
    usage: `FILE|URL --name NAME --base URL [--auth AUTH] [--price PRICE] [--prices FILE] [--only "GET /v1/forecast"]...
      [--disabled] [--dry-run] [--yes]`,
    run: importDocument,
  },
  {
    words: 'api list',
    about: 'list the APIs',
    route: 'GET /apis',
    columns: { apis: ['name', 'enabled', 'enabled_operations', 'operations', 'base_url', 'auth'] },
  },
  {
    words: 'api show',
    about: 'show an API, its operations and prices',
    route: 'GET /apis/:name',
    args: ['name'],
    columns: API,
  },
  {
    words: 'api report',
    about: 'what each API brought in over 30 days, and what the wallet signed for upstreams',
    route: 'GET /api-report',
  },
  {
    words: 'api set',
    about: 'change an API, or one of its operations; FILE holds changes as in PATCH /api/operator/apis/NAME',
    legend: LEGEND,
    route: 'PATCH /apis/:name',
    args: ['name[.operation]'],
    options: {
      title: 'TEXT',
      base: 'URL',
      auth: 'AUTH',
      'timeout-ms': 'N',
      concurrency: 'N',
      'cache-seconds': 'N',
      file: 'FILE',
      price: 'PRICE',
      cost: 'USD',
      'pay-per-request': 'on|off',
    },
    read: changeOf,
    columns: API,
  },
  {
    words: 'api test',
    about: 'ask the upstream once, free: its answer, the counted units and the price',
    route: 'POST /apis/:name/test',
    args: ['name.operation'],
    options: { input: 'JSON' },
    read({ 'name.operation': target, input }) {
      const { name, operation } = split(target)
      if (operation === undefined) throw new UsageError('"operator api test" takes NAME.OPERATION; see --help')
      return { name, operation, input: input === undefined ? {} : json('--input', input) }
    },
  },
  ...[true, false].map((enabled) => ({
    words: `api ${enabled ? 'enable' : 'disable'}`,
    about: `${enabled ? 'put an API or an operation on sale' : 'take an API or an operation off sale'}`,
    route: 'PATCH /apis/:name',
    args: ['name[.operation]'],
    read({ 'name[.operation]': target }: Given) {
      const { name, operation } = split(target)
      return operation === undefined ? { name, enabled } : { name, operations: [{ id: operation, enabled }] }
    },
    columns: { api: ['name', 'enabled', 'base_url'] },
  })),
  {
    words: 'api lift',
    about: 'open what was closed because its upstream claimed more than the maximum',
    route: 'POST /apis/:name/lift',
    args: ['name[.operation]'],
    options: { account: 'ID' },
    read: ({ 'name[.operation]': target, account }) => ({ ...split(target), account }),
    columns: { api: [], notices: [] },
  },
  {
    words: 'api remove',
    about: 'remove an API; its name is not free for 30 days',
    route: 'DELETE /apis/:name',
    args: ['name'],
  },
  {
    words: 'api export',
    about: 'print the catalog as YAML, to keep and to apply',
    route: 'GET /catalog',
    args: ['name?'],
    read: () => ({}),
    more: (answer, { name }) => exported(answer as unknown as CatalogFile, name),
    print: writtenYaml,
  },
  {
    words: 'apply',
    about: 'make the catalog what FILE says (docs/sell-your-api.md)',
    usage: 'FILE [--dry-run] [--yes]',
    run: applyFile,
  },
]

async function applyFile(args: readonly string[], { ask }: CommandTools): Promise<string> {
  const { values, positionals } = parsedArgsWith(args, FLAGS)
  const { file } = words('operator apply', positionals, ['file'])
  const catalog = await readValue(file)
  const send = async (more: object) =>
    (await askServer('POST', '/api/operator/catalog', { catalog, ...more })) as CatalogPlan
  const plan = await send({ dry_run: true })
  const changes = plan.apis.some(({ action }) => action !== 'unchanged')
  const removes = plan.apis.some(({ action, removed }) => action === 'remove' || removed.length > 0)
  if (values['dry-run'] || !changes) return values.json ? asJson(plan) : applyText(plan)
  if (removes && !values.yes && !ask(`${applyText(plan)}\nThis removes what is on sale. Do it?`))
    return `${applyText(plan)}\nNothing was changed. To do this, add --yes.\n`
  const done = await send({ confirm: plan.confirm })
  return values.json ? asJson(done) : applyText(done)
}

const FLAGS = {
  auth: { type: 'string' },
  base: { type: 'string' },
  disabled: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
  name: { type: 'string' },
  only: { type: 'string', multiple: true },
  price: { type: 'string' },
  prices: { type: 'string' },
  yes: { type: 'boolean' },
} as const

async function importDocument(args: readonly string[], { ask }: CommandTools): Promise<string> {
  const { values, positionals } = parsedArgsWith(args, FLAGS)
  const { source } = words('operator api import', positionals, ['source'])
  const { name, base, auth, only } = values
  if (name === undefined) throw new UsageError('"operator api import" needs --name; see --help')
  const isUrl = /^https?:/.test(source)
  const text = await readSource(source)
  const document = isUrl ? text : await bundledDocument(source, text)
  const body: Record<string, unknown> = {
    name,
    document,
    ...(isUrl && { origin: source }),
    ...(base !== undefined && { base_url: base }),
    ...(auth !== undefined && { auth }),
    ...(only && { only }),
    ...(values.price !== undefined && { price: priceOf(values.price) }),
    ...(values.prices !== undefined && { prices: await readValue(values.prices) }),
    ...(values.disabled && { enabled: false }),
  } satisfies { [K in keyof ApiImport]?: unknown }
  const send = async (more: object, dry_run: boolean) =>
    (await askServer('POST', `${APIS}/import${dry_run ? '?dry_run=true' : ''}`, { ...body, ...more })) as ImportPlan
  const plan = await send({}, true)
  if (values['dry-run']) return values.json ? asJson(plan) : importText(plan)
  const changes = plan.added.length + plan.changed.length + plan.removed.length > 0
  if (!plan.is_new && changes && !values.yes && !ask(`${importText(plan)}\nDo this?`))
    return `${importText(plan)}\nNothing was changed. To do this, add --yes.\n`
  const done = await send(plan.is_new ? {} : { confirm: plan.confirm }, false)
  return values.json ? asJson(done) : importText(done)
}

async function changeOf(given: Given) {
  const { 'name[.operation]': target, title, base, auth, price, cost, file, concurrency } = given
  const { 'timeout-ms': timeout, 'cache-seconds': cache, 'pay-per-request': payPerRequest } = given
  const { name, operation } = split(target)
  if (operation !== undefined)
    return {
      name,
      operations: [
        {
          id: operation,
          title,
          price: price === undefined ? undefined : priceOf(String(price)),
          upstream_cost_usd: cost,
          pay_per_request: payPerRequest === undefined ? undefined : onOff(payPerRequest),
        },
      ],
    }
  if (price !== undefined || cost !== undefined || payPerRequest !== undefined)
    throw new UsageError('--price, --cost and --pay-per-request are of one operation: NAME.OPERATION')
  const number = (value: string | boolean | undefined) => (value === undefined ? undefined : Number(value))
  const change: Partial<ApiChange> = file === undefined ? {} : Object(await readValue(String(file)))
  const options = {
    title,
    base_url: base,
    auth,
    timeout_ms: number(timeout),
    concurrency: number(concurrency),
    cache_seconds: number(cache),
  }
  return { ...change, ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)), name }
}

/** USD per call, or a price as JSON. */
function priceOf(text: string): ApiRecord['operations'][number]['price'] {
  if (text.trim().startsWith('{')) return json('--price', text) as ApiRecord['operations'][number]['price']
  return { mode: 'fixed', usd: text }
}

function onOff(text: string | boolean): boolean {
  if (text !== 'on' && text !== 'off') throw new UsageError('--pay-per-request takes on or off')
  return text === 'on'
}

function json(flag: string, text: string | boolean): unknown {
  try {
    return JSON.parse(String(text))
  } catch {
    throw new UsageError(`${flag} must be JSON`)
  }
}

function split(target: string | boolean | undefined): { readonly name: string; readonly operation?: string } {
  const [name = '', ...rest] = String(target).split('.')
  return rest.length === 0 ? { name } : { name, operation: rest.join('.') }
}

function exported({ apis }: CatalogFile, name: string | boolean | undefined): object {
  const some = name === undefined ? apis : apis.filter((api) => api.name === name)
  if (name !== undefined && some.length === 0) throw new UsageError(`there is no API ${name}`)
  return { apis: some }
}
