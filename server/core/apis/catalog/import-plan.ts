import type { Api, ApiOperation, ApiPrice } from '../api'
import { clashes } from '../api-routes'
import { operationProblems } from '../api-rules'
import { priceFor } from '../prices/price-rules'
import type { OperationForm } from './catalog-form'
import type { ImportedDocument, ImportedOperation, RefusedPart } from './imported'

export interface ImportPrices {
  readonly price?: ApiPrice | undefined
  readonly prices?: Readonly<Record<string, ApiPrice>> | undefined
}

/**
 * The operations of a document as they would be sold. The operator's settings of existing operations stay: prices, success,
 * effect (of the same method), streaming, costs, further headers, and whether they are enabled. Operations without a price are refused by name.
 */
export function pricedOperations(
  document: ImportedDocument,
  before: readonly ApiOperation[],
  { price, prices = {} }: ImportPrices,
): { readonly operations: readonly OperationForm[]; readonly refused: readonly RefusedPart[] } {
  // Ids are a stranger's: `constructor` is one, too.
  const own = new Map(Object.entries(prices))
  const was = new Map(before.map((operation) => [operation.id, operation]))
  const operations: OperationForm[] = []
  const refused: RefusedPart[] = [...document.refused]
  for (const imported of document.operations) {
    const old = was.get(imported.id)
    const settings = keepOperatorSettings(imported, old)
    const ownPrice = own.get(imported.id) ?? own.get(routeOf(imported))
    const shared = price ?? old?.price
    // One price for all serves reads and writes: `on_missing` is for its writes.
    const itsPrice = ownPrice ?? (shared && priceFor(settings.effect, shared))
    if (itsPrice) operations.push({ ...settings, price: itsPrice })
    else refused.push({ name: routeOf(imported), reason: 'It has no price. Give one price for all, or one for it.' })
  }
  return { operations, refused }
}

/** The names in `prices` that no operation of the document has. */
export function unknownPrices(document: ImportedDocument, { prices = {} }: ImportPrices): string[] {
  const known = new Set(document.operations.flatMap((operation) => [operation.id, routeOf(operation)]))
  return Object.keys(prices).filter((name) => !known.has(name))
}

/** Leaves out what cannot be sold, each with its reasons: broken rules, and routes that another operation has. */
export function soldPart(api: Api): { readonly api: Api; readonly refused: readonly RefusedPart[] } {
  const refused: RefusedPart[] = []
  const refuse = (operation: ApiOperation, reason: string) => refused.push({ name: routeOf(operation), reason })
  const sound = api.operations.filter((operation) => {
    const problems = operationProblems(operation, api)
    if (problems.length > 0) refuse(operation, `It cannot be sold: ${problems.join('; ')}.`)
    return problems.length === 0
  })
  const doubles = new Map(clashes({ ...api, operations: sound }).map((clash) => [clash.names[1], clash]))
  const operations = sound.filter((operation) => {
    const clash = doubles.get(operation.name)
    if (clash) refuse(operation, `Its method and path match the same requests as ${clash.names[0]}.`)
    return !clash
  })
  return { api: { ...api, operations }, refused }
}

function keepOperatorSettings(
  imported: ImportedOperation,
  old: ApiOperation | undefined,
): Omit<OperationForm, 'price'> & Pick<ApiOperation, 'effect'> {
  if (!old) return imported
  const { success, upstreamCost, payPerRequest, idempotencyHeader, refusedStatuses, headersUp, enabled, answer } = old
  // Settings of a GET do not make the POST of the same name a read.
  const effect = old.method === imported.method ? { effect: old.effect } : {}
  const kept = { success, upstreamCost, payPerRequest, idempotencyHeader, refusedStatuses, headersUp, enabled, answer }
  return { ...imported, ...kept, ...effect, headersDown: [...new Set([...imported.headersDown, ...old.headersDown])] }
}

function routeOf({ method, path }: Pick<ApiOperation, 'method' | 'path'>): string {
  return `${method} ${path}`
}
