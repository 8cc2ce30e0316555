import { printable } from '../../core/plain-text'
import type { ApiRecord, CatalogPlan, ImportPlan } from '../../http/apis/record'

type Operation = ApiRecord['operations'][number]

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

function section(title: string, entries: readonly string[]): string[] {
  return entries.length === 0 ? [] : [`${title}:`, ...entries.map((entry) => `  ${entry}`)]
}

/** Documents and upstreams are strangers': nothing hidden reaches the terminal. */
function text(lines: readonly string[]): string {
  return `${lines.map(printable).join('\n')}\n`
}
