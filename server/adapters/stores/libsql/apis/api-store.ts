import { and, asc, desc, eq, inArray, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Api, ApiOperation, ApiPrice } from '../../../../core/apis/api'
import type { ApiStore, ApiWrite, StoredPrice } from '../../../../core/apis/api-store'
import { secretContext } from '../../../../core/apis/catalog/sealed-auth'
import type { ApiClosing, ClosingStore } from '../../../../core/apis/closings'
import { priceFor } from '../../../../core/apis/prices/price-rules'
import type { AuditEntry } from '../../../../core/audit'
import type { ImportedName } from '../../../../core/catalog/operation'
import type { AccountId } from '../../../../core/ids'
import { KeyedMutex } from '../../../../core/keyed-mutex'
import type { SealedText, SealedTexts } from '../../../../core/secrets/resealing'
import { auditRow } from '../audit/audit-trail'
import { auditLog } from '../schema/accounts'
import { apiClosings, apiOperations, apiPrices, apis, apiTools, removedApis } from '../schema/apis'

/** Rows per statement: a large API has a thousand operations, and a statement takes 32,766 values. */
const ROWS_AT_ONCE = 500

type Writes = Parameters<LibSQLDatabase['batch']>[0][number][]

/** The APIs on sale. This process owns the database, so comparing and writing under a mutex is enough. */
export class LibsqlApis implements ApiStore {
  private readonly db: LibSQLDatabase
  private readonly mutex = new KeyedMutex()

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async all(): Promise<readonly Api[]> {
    const [rows, operations, prices] = await Promise.all([
      this.db.select().from(apis).orderBy(asc(apis.name)),
      this.db.select().from(apiOperations).orderBy(asc(apiOperations.api), asc(apiOperations.position)),
      this.db
        .select({ id: apiPrices.id, price: apiPrices.price })
        .from(apiOperations)
        .innerJoin(apiPrices, eq(apiPrices.id, apiOperations.priceVersion)),
    ])
    const priceOf = new Map(prices.map(({ id, price }) => [id, price]))
    const byApi = Map.groupBy(operations, ({ api }) => api)
    return rows.map((row) => ({
      ...row,
      operations: (byApi.get(row.name) ?? []).map((one) => operationOf(one, priceOf.get(one.priceVersion))),
    }))
  }

  write(changes: readonly ApiWrite[]): Promise<boolean> {
    return this.mutex.take('catalog', async () => {
      const stored = await this.db.select({ name: apis.name, at: apis.updatedAt }).from(apis)
      const updatedAt = new Map(stored.map(({ name, at }) => [name, at]))
      const isAsExpected = changes.every((change) => (updatedAt.get(nameOf(change)) ?? null) === change.expected)
      if (!isAsExpected) return false
      const writes = changes.flatMap((change) => (change.kind === 'save' ? this.saving(change) : this.removing(change)))
      const [first, ...rest] = writes
      if (first) await this.db.batch([first, ...rest])
      return true
    })
  }

  async removedAt(name: string): Promise<number | null> {
    const [row] = await this.db.select({ at: removedApis.at }).from(removedApis).where(eq(removedApis.name, name))
    return row?.at ?? null
  }

  async price(id: string): Promise<StoredPrice | null> {
    const [row] = await this.db
      .select()
      .from(apiPrices)
      .where(eq(apiPrices.id, id as StoredPrice['id']))
    return row ?? null
  }

  async pricesOf(operation: ImportedName): Promise<readonly StoredPrice[]> {
    return this.db.select().from(apiPrices).where(eq(apiPrices.operation, operation)).orderBy(desc(apiPrices.id))
  }

  async toolNames(): Promise<ReadonlyMap<string, ImportedName>> {
    const rows = await this.db.select().from(apiTools)
    return new Map(rows.map(({ name, operation }) => [name, operation]))
  }

  private saving({ api, reopened, audit }: Extract<ApiWrite, { kind: 'save' }>): Writes {
    const { operations, ...row } = api
    const { name: _, ...changes } = row
    const writes: Writes = [
      this.db.insert(auditLog).values(auditRow(audit)),
      this.db.insert(apis).values(row).onConflictDoUpdate({ target: apis.name, set: changes }),
      this.db.delete(apiOperations).where(eq(apiOperations.api, api.name)),
      this.db.delete(removedApis).where(eq(removedApis.name, api.name)),
    ]
    for (let i = 0; i < operations.length; i += ROWS_AT_ONCE)
      writes.push(...this.operationWrites(api, operations.slice(i, i + ROWS_AT_ONCE), i))
    for (let i = 0; i < reopened.length; i += ROWS_AT_ONCE)
      writes.push(
        this.db.delete(apiClosings).where(inArray(apiClosings.operation, reopened.slice(i, i + ROWS_AT_ONCE))),
      )
    return writes
  }

  private removing({ name, at, audit }: Extract<ApiWrite, { kind: 'remove' }>): Writes {
    const operations = this.db
      .select({ name: apiOperations.name })
      .from(apiOperations)
      .where(eq(apiOperations.api, name))
    return [
      this.db.insert(auditLog).values(auditRow(audit)),
      this.db.delete(apiClosings).where(inArray(apiClosings.operation, operations)),
      this.db.delete(apiOperations).where(eq(apiOperations.api, name)),
      this.db.delete(apis).where(eq(apis.name, name)),
      this.db.insert(removedApis).values({ name, at }).onConflictDoUpdate({ target: removedApis.name, set: { at } }),
    ]
  }

  private operationWrites(api: Api, operations: readonly ApiOperation[], from: number): Writes {
    const rows = operations.map((operation, i) => rowOf(api.name, operation, from + i))
    const prices = operations.map(({ name, price, priceVersion }) => ({
      id: priceVersion,
      operation: name,
      price,
      at: api.updatedAt,
    }))
    const tools = operations.map(({ name, toolName }) => ({ name: toolName, operation: name }))
    return [
      // The ids of prices that are known already change nothing.
      this.db.insert(apiPrices).values(prices).onConflictDoNothing({ target: apiPrices.id }),
      this.db.insert(apiTools).values(tools).onConflictDoNothing({ target: apiTools.operation }),
      this.db.insert(apiOperations).values(rows),
    ]
  }
}

function nameOf(change: ApiWrite): string {
  return change.kind === 'save' ? change.api.name : change.name
}

function operationOf(row: typeof apiOperations.$inferSelect, price: ApiPrice | undefined): ApiOperation {
  if (!price) throw new Error(`the price ${row.priceVersion} of ${row.name} is not stored`)
  const { api: _api, position: _position, definition, ...columns } = row
  // Prices from before 2026-11-23 may say what a read costs without its figure: nothing.
  return { ...definition, ...columns, price: priceFor(definition.effect, price) }
}

function rowOf(api: string, operation: ApiOperation, position: number): typeof apiOperations.$inferInsert {
  const { name, id, method, path, title, description, price: _, priceVersion, toolName, enabled, ...rest } = operation
  return {
    name,
    api,
    position,
    id,
    method,
    path,
    title,
    description,
    definition: rest,
    priceVersion,
    toolName,
    enabled,
  }
}

/** The secrets of imported APIs. */
export class LibsqlSealedApis implements SealedTexts {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async all(): Promise<readonly SealedText[]> {
    const sold = await this.db.select({ name: apis.name, auth: apis.auth }).from(apis)
    return sold.flatMap(({ name, auth }) =>
      'secret' in auth && auth.secret.from === 'database'
        ? [{ context: secretContext(name), sealed: auth.secret.sealed }]
        : [],
    )
  }

  async replace({ context, sealed }: SealedText, by: string): Promise<void> {
    const isSame = sql`json_extract(${apis.auth}, '$.secret.sealed') = ${sealed}`
    await this.db
      .update(apis)
      .set({ auth: sql`json_set(${apis.auth}, '$.secret.sealed', ${by})` })
      .where(and(eq(apis.name, context.row), isSame))
  }
}

/** The operations that are closed to accounts. */
export class LibsqlClosings implements ClosingStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async all(): Promise<readonly ApiClosing[]> {
    return this.db.select().from(apiClosings).orderBy(asc(apiClosings.at), asc(apiClosings.accountId))
  }

  async add(closing: ApiClosing): Promise<void> {
    await this.db.batch([this.db.insert(apiClosings).values(closing).onConflictDoNothing()])
  }

  async lift(operations: readonly ImportedName[], account: AccountId | null, audit: AuditEntry): Promise<void> {
    const ofThese = inArray(apiClosings.operation, [...operations])
    await this.db.batch([
      this.db.insert(auditLog).values(auditRow(audit)),
      this.db.delete(apiClosings).where(account === null ? ofThese : and(ofThese, eq(apiClosings.accountId, account))),
    ])
  }
}
