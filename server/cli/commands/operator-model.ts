import { readFile } from 'node:fs/promises'
import type { ModelRecord } from '../../http/models/record'
import type { OperatorModels, PriceReviews } from '../../http/operator/model-record'
import { parsedArgsWith, words } from '../command'
import { askServer, UsageError } from '../control-client'
import { asJson } from '../print'
import { type Columns, recordText } from '../record-text'
import { type CommandTools, type Given, noneOr, type OperatorCommand } from './operator-command'
import { readSource } from './value-file'

const MODELS: Columns = { models: ['id', 'owned_by', 'supported_endpoint_types', 'pricing', 'recharge_required'] }

const LISTED: Columns = { models: ['id', 'vendor_price', 'sold_as'] }
const VENDOR_LEGEND = `KIND is openai (also for every compatible server), anthropic or gemini. URL includes the version, and defaults to the vendor's.
FILE holds our API key; /dev/stdin reads it from the input. It is sealed, and never shown again.\n`

export const MODEL_COMMANDS: readonly OperatorCommand[] = [
  { words: 'model list', about: 'list models, their routes and prices', route: 'GET /models', columns: MODELS },
  {
    words: 'model put',
    about: 'add or replace a model, or several under "models" (docs/models.md)',
    usage: 'FILE.json',
    async run(args) {
      const { values, positionals } = parsedArgsWith(args, { json: { type: 'boolean' } })
      const { file } = words('operator model put', positionals, ['file'])
      const models: ModelRecord[] = []
      for (const entry of await entriesOf(file)) {
        const answer = await askServer('POST', '/api/operator/models', { entry })
        models.push(...(answer as OperatorModels).models)
      }
      return values.json ? asJson({ models }) : recordText({ models }, MODELS)
    },
  },
  {
    words: 'model price',
    about: 'set the price of a model added with "put", in USD per million tokens',
    route: 'PATCH /models/:id',
    args: ['id', 'input', 'output', 'cache_read?', 'cache_write?'],
    read: ({ id, input, output, cache_read: read, cache_write: write }: Given) => {
      if (read !== undefined && write === undefined) throw new UsageError('give CACHE_READ and CACHE_WRITE, or neither')
      const cache = read === undefined ? {} : { cache_read: Number(read), cache_write: Number(write) }
      return { id, price: { input: Number(input), output: Number(output), ...cache } }
    },
    columns: MODELS,
  },
  {
    words: 'model price-for',
    about: 'set what an account pays of the list prices of models, such as 80 percent, or end that with --none',
    legend: 'Without --model: of all models that have no price of their own for the account.\n',
    route: 'POST /model-prices',
    args: ['account', 'percent?'],
    options: { model: 'ID', none: true },
    read: ({ none, percent, ...rest }) => ({ ...rest, percent: numberOrNull(noneOr(none, percent, 'a percentage')) }),
  },
  {
    words: 'model access',
    about: 'set which tiers and accounts may call a model added with "put" or sold; for others it does not exist',
    legend: 'TIERS and ACCOUNTS are separated by commas; an account is named by its id or confirmed email address.\n',
    route: 'PATCH /models/:id',
    args: ['id'],
    options: { tiers: 'TIERS', accounts: 'ACCOUNTS', everyone: true },
    read: accessOf,
    columns: { models: ['id', 'access'] },
  },
  {
    words: 'model prices',
    about: "compare the prices of models with their vendors', and take those over with --apply",
    usage: '[FILE|URL] [--markup PERCENT] [--older-than DAYS] [--only ID]... [--apply] [--yes]',
    legend: `FILE or URL is a sheet in the format of LiteLLM's model_prices_and_context_window.json. Without it, the gateway's own is used.
A model whose price is below its vendor's, or older than 90 days, has a warning. --apply asks before it changes anything.\n`,
    run: comparePrices,
  },
  {
    words: 'vendor add',
    about: 'add a server of models, and ask it which it has',
    legend: VENDOR_LEGEND,
    route: 'POST /model-vendors',
    args: ['name', 'kind'],
    options: { url: 'URL', 'key-file': 'FILE' },
    read: async ({ name, kind, url, 'key-file': file }) => ({ name, kind, base_url: url, ...(await keyIn(file)) }),
    columns: LISTED,
  },
  {
    words: 'vendor list',
    about: 'list the vendors that were added',
    route: 'GET /model-vendors',
    columns: { vendors: ['name', 'kind', 'base_url', 'has_key', 'key_opens', 'models'] },
  },
  {
    words: 'vendor test',
    about: 'ask a vendor for its models with our key; costs nothing',
    route: 'POST /model-vendors/:name/test',
    args: ['name'],
    columns: LISTED,
  },
  {
    words: 'vendor key',
    about: 'replace our key at a vendor, from the next call on',
    legend: VENDOR_LEGEND,
    route: 'POST /model-vendors/:name/key',
    args: ['name'],
    options: { 'key-file': 'FILE' },
    read: async ({ name, 'key-file': file }) => ({ name, ...(await keyIn(file)) }),
    columns: LISTED,
  },
  {
    words: 'vendor sell',
    about:
      "sell a model of a vendor at the sheet's price plus the markup, or at INPUT and OUTPUT USD per million tokens",
    route: 'POST /model-vendors/:name/models',
    args: ['name', 'model'],
    options: { as: 'ID', markup: 'PERCENT', input: 'USD', output: 'USD', 'signup-credit': true },
    read: soldModel,
    columns: MODELS,
  },
  {
    words: 'vendor remove',
    about: 'remove a vendor that serves no model, and its key',
    route: 'DELETE /model-vendors/:name',
    args: ['name'],
  },
  { words: 'model remove', about: 'remove a model added with "put"', route: 'DELETE /models/:id', args: ['id'] },
]

function numberOrNull(text: string | boolean | null): number | null {
  return text === null ? null : Number(text)
}

function accessOf({ id, tiers, accounts, everyone }: Given) {
  if ((everyone === true) === (tiers !== undefined || accounts !== undefined))
    throw new UsageError('give --tiers, --accounts or both, or --everyone')
  return { id, access: everyone ? null : { tiers: namesIn(tiers), accounts: namesIn(accounts) } }
}

function namesIn(list: string | boolean | undefined): readonly string[] {
  return typeof list === 'string' && list !== '' ? list.split(',').map((name) => name.trim()) : []
}

/** The key of a file, without the end of its last line. */
async function keyIn(file: string | boolean | undefined): Promise<{ readonly key?: string }> {
  return typeof file === 'string' ? { key: (await readSource(file)).trim() } : {}
}

function soldModel({ name, model, as: id, markup, input, output, 'signup-credit': isForAll }: Given) {
  if ((input === undefined) !== (output === undefined)) throw new UsageError('give --input and --output, or neither')
  return {
    name,
    model,
    id,
    ...(markup !== undefined && { markup_percent: Number(markup) }),
    ...(input !== undefined && { price: { input: Number(input), output: Number(output) } }),
    ...(isForAll && { recharge_required: false }),
  }
}

async function entriesOf(file: string): Promise<readonly unknown[]> {
  let content: unknown
  try {
    content = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
  const { models } = Object(content)
  return Array.isArray(models) ? models : [content]
}

const PRICE_FLAGS = {
  apply: { type: 'boolean' },
  json: { type: 'boolean' },
  markup: { type: 'string' },
  'older-than': { type: 'string' },
  only: { type: 'string', multiple: true },
  yes: { type: 'boolean' },
} as const

async function comparePrices(args: readonly string[], { ask }: CommandTools): Promise<string> {
  const { values, positionals } = parsedArgsWith(args, PRICE_FLAGS)
  const [source, ...more] = positionals
  if (more.length > 0) throw new UsageError('"operator model prices" takes one FILE or URL; see --help')
  const body = {
    ...(source !== undefined && { sheet: pricesIn(await readSource(source), source) }),
    ...(values.markup !== undefined && { markup_percent: Number(values.markup) }),
    ...(values['older-than'] !== undefined && { older_than_days: Number(values['older-than']) }),
  }
  const send = async (apply?: readonly string[]) =>
    (await askServer('POST', '/api/operator/models/prices', { ...body, ...(apply && { apply }) })) as PriceReviews
  const review = await send()
  const changed = review.models
    .filter(({ id, changes, in_database }) => in_database && changes.length > 0 && (values.only?.includes(id) ?? true))
    .map(({ id }) => id)
  const shown = (result: PriceReviews) => (values.json ? asJson(result) : reviewText(result))
  if (!values.apply || changed.length === 0) return shown(review)
  if (!values.yes && !ask(`${reviewText(review)}\nChange the prices of ${changed.join(', ')}?`))
    return `${reviewText(review)}\nNothing was changed. To do this, add --yes.\n`
  return shown(await send(changed))
}

/** What a sheet says about prices. The rest is most of it. */
function pricesIn(text: string, source: string): object {
  try {
    const isPrice = /cost|pricing|^litellm_provider$|^provider_specific_entry$/
    return Object.fromEntries(
      Object.entries(Object(JSON.parse(text))).map(([name, entry]) => [
        name,
        Object.fromEntries(Object.entries(Object(entry)).filter(([member]) => isPrice.test(member))),
      ]),
    )
  } catch (error) {
    throw new UsageError(`${source}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function reviewText({ sheet_date: date, models }: PriceReviews): string {
  if (models.length === 0) return 'No model has an upstream outside the gateway.\n'
  const priced = date === null ? '' : `Vendors' prices as of ${date}. Give a newer sheet as FILE or URL.\n`
  return (
    priced +
    models
      .map(({ id, vendor_model: vendor, changes, below_vendor: below, is_old, priced_at, in_database, applied }) =>
        [
          `${id}${vendor === null ? ': not in the sheet' : ` (${vendor})${changes.length === 0 ? ': as proposed' : ''}`}`,
          ...(is_old ? [`  ! set on ${priced_at?.slice(0, 10)}`] : []),
          ...below.map((one) => `  ! below the vendor: ${one}`),
          ...changes.map((one) => `  ${one}`),
          ...(changes.length > 0 && !in_database ? ['  Change it in MODELS_FILE.'] : []),
          ...(applied ? ['  Changed.'] : []),
        ].join('\n'),
      )
      .join('\n') +
    '\n'
  )
}
