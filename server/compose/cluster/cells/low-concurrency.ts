import type { Api } from '../../../core/apis/api'
import { type Model, upstreamName } from '../../../core/models/model'
import { type CellMembership, shareOf } from './cell-membership'

/** How many are named: an operator fixes one after the other. */
const MAX_NAMED = 5

interface Limited {
  readonly apis: readonly Pick<Api, 'name' | 'enabled' | 'concurrency'>[]
  readonly models: readonly Pick<Model, 'upstreams'>[]
}

/** Names what allows fewer concurrent calls than there are cells, so that accounts of some cells get none; null if nothing does. */
export function lowConcurrency(
  membership: Pick<CellMembership, 'all'> | undefined,
  { apis, models }: Limited,
): string | null {
  if (!membership || membership.all.length === 1) return null
  const { all } = membership
  const caps = new Map<string, number>()
  for (const { name, enabled, concurrency } of apis) if (enabled) caps.set(`the API ${name}`, concurrency)
  for (const { upstreams } of models)
    for (const upstream of upstreams) caps.set(`the upstream ${upstreamName(upstream)}`, upstream.concurrency)
  const few = [...caps].filter(([, cap]) => cap < all.length)
  if (few.length === 0) return null
  const named = few.slice(0, MAX_NAMED).map(([name, cap]) => {
    const without = all.filter((cell) => shareOf({ name: cell, all })(cap) === 0)
    return `${name} has a concurrency of ${cap}, so accounts in ${without.join(', ')} get 429`
  })
  const more = few.length - named.length
  return `${named.join('; ')}${more > 0 ? `; ${more} more are affected` : ''}: set concurrency to at least ${all.length}, the number of cells`
}
