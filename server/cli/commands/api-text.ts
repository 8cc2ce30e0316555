import { printable } from '../../core/plain-text'
import type { ApiRecord, ApiTrial, CatalogPlan, ImportPlan } from '../../http/apis/record'
import type { ApiReport } from '../../http/apis/report-record'
import { count, usdText } from '../print'
import { table } from '../table'

type Operation = ApiRecord['operations'][number]

export function operationTable(operations: readonly Operation[]): string {
  if (operations.length === 0) return 'No operations.\n'
  return table(
    ['OPERATION', 'CALL', 'PRICE', 'EFFECT', 'STATUS'],
    operations.map((one) => [
      one.id,
      `${one.method} ${one.path}`,
      priceText(one.price),
      one.effect,
      one.enabled ? 'enabled' : 'disabled',
    ]),
  )
}

function priceText(price: Operation['price']): string {
  switch (price.mode) {
    case 'fixed':
      return `${price.usd} USD per call`
    case 'units': {
      const { usd, count, block = 1, maximum, maximum_from } = price
      return `${usd} USD per ${block === 1 ? 'unit' : `${block} units`} of ${count}, at most ${maximum ?? maximum_from}`
    }
    case 'reported':
      return price.unit === 'paid'
        ? `what the upstream is paid x ${price.multiplier ?? '1'}, at most ${price.maximum_usd} USD`
        : `reported ${price.unit} x ${price.multiplier ?? '1'}, at most ${price.maximum_usd} USD`
  }
}

/** The effect of an import: each operation with its price, and operations that cannot be sold, with the reason. */
export function importText(plan: ImportPlan): string {
  const { api, added, changed, removed, refused, notices, applied, is_new } = plan
  const of = (id: string) => api.operations.find((operation) => operation.id === id)
  const line = (mark: string, id: string, more = '') => {
    const operation = of(id)
    const what = operation ? `  ${operation.method} ${operation.path}  ${priceText(operation.price)}` : ''
    return `  ${mark} ${id}${what}${more}`
  }
  const same = api.operations.length - added.length - changed.length
  return text([
    `${api.name} at ${api.base_url}${is_new ? ', new' : ''}${applied ? '' : ': the plan; nothing was changed yet'}`,
    ...added.map((id) => line('+', id)),
    ...changed.map(({ id, changed: parts }) => line('~', id, `  (${parts.join(', ')})`)),
    ...removed.map((id) => line('-', id)),
    ...(same > 0 ? [`  ${same} unchanged`] : []),
    ...section(
      'Cannot be sold',
      refused.map(({ name, reason }) => `${name}: ${reason}`),
    ),
    ...section('Notes', notices),
  ])
}

/** The effect of applying a catalog. */
export function applyText({ apis, notices, applied }: CatalogPlan): string {
  if (apis.every(({ action }) => action === 'unchanged')) return 'Nothing to change.\n'
  const part = (mark: string, list: readonly string[]) => list.map((one) => `  ${mark} ${one}`)
  return text([
    applied ? 'Applied:' : 'The plan; nothing was changed yet:',
    ...apis
      .filter(({ action }) => action !== 'unchanged')
      .flatMap(({ name, action, added, changed, removed, settings }) => [
        `${action} ${name}${settings.length > 0 ? ` (${settings.join(', ')})` : ''}`,
        ...[...part('+', added), ...part('~', changed), ...part('-', removed)],
      ]),
    ...section('Notes', notices),
  ])
}

/** The outcome of one request to an upstream. */
export function trialText(trial: ApiTrial): string {
  const { status, content_type, bytes, preview, units, held_usd, cost_usd, problem } = trial
  return text([
    ...(status === null ? [] : [`${status} ${content_type ?? ''}, ${count(bytes, 'byte')}`]),
    ...(preview === null ? [] : [preview]),
    ...(units === null ? [] : [`Counted: ${units}`]),
    ...(cost_usd === null ? [] : [`It would have cost ${cost_usd} USD, of ${held_usd} USD held.`]),
    ...(problem === null ? [] : [`Problem: ${problem}`]),
  ])
}

function section(title: string, entries: readonly string[]): string[] {
  return entries.length === 0 ? [] : [`${title}:`, ...entries.map((entry) => `  ${entry}`)]
}

/** Documents and upstreams are strangers': nothing hidden reaches the terminal. */
function text(lines: readonly string[]): string {
  return `${lines.map(printable).join('\n')}\n`
}

/** Revenue and upstream payments of each API, and the signed part of the wallet's daily maximum. */
export function reportText({ days, apis, wallet }: ApiReport): string {
  if (apis.length === 0) return 'No APIs. Import one with "operator api import"; see --help.\n'
  const sum = (amount: number | null) => (amount === null ? 'not known' : `${usdText(amount)} USD`)
  const sums = table(
    ['API', 'CALLS', 'SERVED', 'FAILED', 'REVENUE', 'UPSTREAM COST'],
    apis.map((api) => [
      ...[api.name, api.calls, api.served, api.failed],
      ...[sum(api.revenue_micros_usd), sum(api.upstream_cost_micros_usd)],
    ]),
  )
  const paid = apis.flatMap(({ name, upstream_payments }) =>
    upstream_payments.map(({ state, payments, cost_micros_usd }) => [name, state, payments, sum(cost_micros_usd)]),
  )
  const payments = paid.length === 0 ? '' : `\n${table(['PAID BY THE WALLET', 'STATE', 'PAYMENTS', 'SUM'], paid)}`
  const signed = wallet
    ? `\nThe wallet ${wallet.address} has signed ${sum(wallet.signed_micros_usd)} of ${sum(wallet.daily_maximum_micros_usd)} a day.\n`
    : ''
  return `The last ${days} days.\n\n${sums}${payments}${signed}`
}
