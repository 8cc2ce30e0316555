import { and, asc, desc, eq, getTableColumns, isNull, not, or, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { Allowlist } from '../../../core/credentials/allowlist'
import { type ApiKey, KEY_STATUSES, type KeyStatus } from '../../../core/credentials/api-key'
import type { KeyLists, KeyQuery, KeySearch } from '../../../core/credentials/key-lists'
import type { AccountId, PoolId } from '../../../core/ids'
import { pageOf } from '../../../core/page'
import { isAmong } from './driver/among-all'
import { endOfKey, keys, pools } from './schema/keys'

const MAX_TAGS = 200
const MAX_REVOKED_COUNTED = 10_000
const MAX_NAMES = 10_000

/** Columns of a key that its record in memory has. */
const { lastUsedAt: _, madeBy: _by, ...KEY_COLUMNS } = getTableColumns(keys)

export { KEY_COLUMNS }
export type KeyRow = Omit<typeof keys.$inferSelect, 'lastUsedAt' | 'madeBy'>

const LABEL = { id: keys.id, name: keys.name, prefix: keys.prefix, last4: keys.last4, poolId: keys.poolId }
const LISTED = { id: keys.id, name: keys.name, last4: keys.last4, revokedAt: keys.revokedAt }

/** See `KeyLists`. Live keys are found by an index of their own. */
export class LibsqlKeyLists implements KeyLists {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>
  private readonly madeBy: string | null

  /** `applied` resolves when the tables contain every acknowledged charge. `madeBy`: only keys of this member. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>, madeBy: string | null = null) {
    this.db = db
    this.applied = applied
    this.madeBy = madeBy
  }

  seenBy(userId: string | null): LibsqlKeyLists {
    return userId === this.madeBy ? this : new LibsqlKeyLists(this.db, this.applied, userId)
  }

  private of(account: AccountId): SQL | undefined {
    return and(eq(keys.accountId, account), this.madeBy === null ? undefined : eq(keys.madeBy, this.madeBy))
  }

  async page(
    account: AccountId,
    query: KeyQuery,
    at: number,
    { limit, after }: { readonly limit: number; readonly after: string | null },
  ) {
    await this.applied()
    const by = SORT_KEYS[query.sort](at)
    const [direction, behind] = query.order === 'asc' ? [asc, sql.raw('>')] : [desc, sql.raw('<')]
    const rows = () => this.db.select(KEY_COLUMNS).from(keys).innerJoin(pools, eq(pools.id, keys.poolId)).$dynamic()
    const own = and(this.of(account), among(query.among, at), matches(query))
    const [last] = after === null ? [] : await this.positionOf(account, after, by)
    if (after !== null && !last) return null
    const rest = last && sql`(${by}, ${keys.id}) ${behind} (${last.by}, ${last.id})`
    const found = await rows()
      .where(and(own, rest))
      .orderBy(direction(by), direction(keys.id))
      .limit(limit + 1)
    const page = pageOf(found, limit)
    return { rows: page.rows.map(withAllowlist), next: page.next }
  }

  async summary(account: AccountId, search: KeySearch, at: number) {
    await this.applied()
    const ofAccount = this.of(account)
    const revoked = this.db
      .select({ one: sql`1`.as('one') })
      .from(keys)
      .where(and(ofAccount, not(live(at)), matches(search)))
      .limit(MAX_REVOKED_COUNTED)
    const status = statusAt(at)
    const [byStatus, [ended], tags] = await this.db.batch([
      this.db
        .select({ status: sql<KeyStatus>`${status}`, keys: sql<number>`count(*)` })
        .from(keys)
        .innerJoin(pools, eq(pools.id, keys.poolId))
        .where(and(ofAccount, live(at), matches(search)))
        .groupBy(status),
      this.db.select({ keys: sql<number>`count(*)` }).from(revoked.as('revoked')),
      this.db
        .select({ name: sql<string>`tag.value`, keys: sql<number>`count(*)` })
        .from(sql`${keys}, json_each(${keys.tags}) AS tag`)
        .where(and(ofAccount, live(at)))
        .groupBy(sql`tag.value`)
        .orderBy(sql`count(*) DESC`)
        .limit(MAX_TAGS),
    ])
    const counts: Record<KeyStatus, number> = { active: 0, disabled: 0, expired: 0, exhausted: 0, revoked: 0 }
    for (const row of byStatus) counts[row.status] = row.keys
    counts.revoked = ended?.keys ?? 0
    return { counts, tags: tags.sort((one, other) => one.name.localeCompare(other.name, 'en')) }
  }

  async byIds(account: AccountId, ids: readonly string[]) {
    const named = and(this.of(account), isAmong(keys.id, ids))
    return (await this.db.select(KEY_COLUMNS).from(keys).where(named)).map(withAllowlist)
  }

  async ofPools(account: AccountId, asked: readonly PoolId[], at: number) {
    const ofAccount = this.of(account)
    // With one `max`, SQLite takes the other columns from the row that has it.
    const newest = { ...LABEL, newest: sql<string>`max(${keys.id})` }
    const [alive, others] = await this.db.batch([
      this.db
        .select(newest)
        .from(keys)
        .where(and(ofAccount, live(at)))
        .groupBy(keys.poolId)
        .orderBy(desc(keys.id)),
      this.db
        .select(newest)
        .from(keys)
        .where(and(ofAccount, isAmong(keys.poolId, asked)))
        .groupBy(keys.poolId),
    ])
    const shown = new Set(alive.map(({ poolId }) => poolId))
    return [...alive, ...others.filter(({ poolId }) => !shown.has(poolId))]
  }

  names(account: AccountId) {
    return this.db.select(LISTED).from(keys).where(this.of(account)).orderBy(desc(keys.id)).limit(MAX_NAMES)
  }

  async withTag(account: AccountId, tag: string) {
    const found = await this.db
      .select({ id: keys.id })
      .from(keys)
      .where(and(this.of(account), matches({ tag })))
    return found.map(({ id }) => id)
  }

  private positionOf(account: AccountId, id: string, by: SQL) {
    return this.db
      .select({ id: keys.id, by })
      .from(keys)
      .innerJoin(pools, eq(pools.id, keys.poolId))
      .where(and(this.of(account), sql`${keys.id} = ${id}`))
  }
}

export function withAllowlist(row: KeyRow): ApiKey {
  return { ...row, allowlist: Allowlist.of(row.allowedIps) }
}

/** Neither revoked nor past its grace period. The index `keys_live` has these expressions. */
export function live(at: number): SQL {
  return sql`(${isNull(keys.revokedAt)} AND ${endOfKey(keys)} > ${at})`
}

function among(wanted: KeyQuery['among'], at: number): SQL | undefined {
  if (wanted === 'all') return undefined
  if (wanted === 'revoked') return not(live(at))
  return wanted === 'live' ? live(at) : and(live(at), sql`${statusAt(at)} = ${wanted}`)
}

/** `keyStatus` in SQL. */
function statusAt(at: number): SQL {
  return sql`CASE WHEN NOT ${live(at)} THEN 'revoked' WHEN ${keys.disabledAt} IS NOT NULL THEN 'disabled'
    WHEN ${keys.expiresAt} <= ${at} THEN 'expired' WHEN ${pools.spent} >= ${pools.limit} THEN 'exhausted' ELSE 'active' END`
}

const SORT_KEYS: Readonly<Record<KeyQuery['sort'], (at: number) => SQL>> = {
  created: () => sql`${keys.createdAt}`,
  name: () => sql`lower(${keys.name})`,
  status: (at) => sql`instr(${KEY_STATUSES.join()}, ${statusAt(at)})`,
  spent: () => sql`${pools.spent}`,
  last_used: () => sql`coalesce(${keys.lastUsedAt}, 0)`,
}

function matches({ q, tag, id }: KeySearch): SQL | undefined {
  return and(
    id === undefined ? undefined : sql`${keys.id} = ${id}`,
    tag === undefined ? undefined : sql`EXISTS (SELECT 1 FROM json_each(${keys.tags}) WHERE value = ${tag})`,
    // SQLite knows the letter case of ASCII only, so the other letters are tried in each.
    q === undefined
      ? undefined
      : or(
          eq(keys.last4, q),
          ...[...new Set([q, q.toLowerCase(), q.toUpperCase()])].map(
            (text) => sql`instr(lower(${keys.name}), lower(${text})) > 0`,
          ),
        ),
  )
}
