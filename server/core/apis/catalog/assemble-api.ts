import type { ImportedName } from '../../catalog/operation'
import { makeId } from '../../ids'
import type { Sealing } from '../../sealing'
import { type Api, type ApiOperation, importedName, type UpstreamAuth } from '../api'
import { MAX_TITLE } from '../api-rules'
import { BUILT_IN_TOOLS, toolName } from '../tool-name'
import type { ApiForm, GivenAuth, OperationForm } from './catalog-form'
import { sealedAuth } from './sealed-auth'

const DEFAULTS = { timeoutMs: 30_000, concurrency: 100, cacheSeconds: 0 }
const ANY_2XX: ApiOperation['success'] = { minStatus: 200, maxStatus: 299, conditions: [] }

export interface AssemblyParts {
  readonly now: number
  readonly sealing: Sealing
  /** Every MCP tool name that was ever given, and to which operation. */
  readonly tools: ReadonlyMap<string, ImportedName>
}

/**
 * The API of a form: with defaults, sealed secrets, price versions and tool names. Those of `previous` stay where nothing changed.
 * `keepsSecret`: a stored secret goes to the same place as before. Throws `NoStoredSecret` when the form keeps one that there is not.
 */
export function assembleApi(form: ApiForm, previous: Api | null, parts: AssemblyParts, keepsSecret: boolean): Api {
  const { name, baseUrl } = form
  const taken = new Set([...BUILT_IN_TOOLS, ...parts.tools.keys()])
  const toolOf = new Map([...parts.tools].map(([tool, operation]) => [operation, tool]))
  const before = new Map(previous?.operations.map((operation) => [operation.id, operation]))
  return {
    name,
    title: form.title ?? previous?.title ?? name,
    description: form.description ?? '',
    baseUrl,
    auth: sealedAuth(form.auth, keepsSecret ? previous : null, { api: name, sealing: parts.sealing }),
    timeoutMs: form.timeoutMs ?? DEFAULTS.timeoutMs,
    concurrency: form.concurrency ?? DEFAULTS.concurrency,
    cacheSeconds: form.cacheSeconds ?? DEFAULTS.cacheSeconds,
    headers: form.headers ?? {},
    enabled: form.enabled ?? true,
    operations: form.operations.map((operation) => {
      const full = importedName(name, operation.id)
      const tool = toolOf.get(full) ?? toolName(full, taken)
      taken.add(tool)
      return operationOf(operation, full, before.get(operation.id) ?? null, { tool, now: parts.now })
    }),
    createdAt: previous?.createdAt ?? parts.now,
    // Later than the last change, also within one millisecond: the store compares it.
    updatedAt: Math.max(parts.now, (previous?.updatedAt ?? 0) + 1),
  }
}

function operationOf(
  form: OperationForm,
  name: ImportedName,
  previous: ApiOperation | null,
  { tool, now }: { readonly tool: string; readonly now: number },
): ApiOperation {
  const samePrice = previous !== null && same(previous.price, form.price)
  return {
    name,
    id: form.id,
    method: form.method,
    path: form.path,
    title: form.title ?? [...`${form.method} ${form.path}`].slice(0, MAX_TITLE).join(''),
    description: form.description ?? '',
    parameters: form.parameters ?? [],
    body: form.body ?? null,
    success: form.success ?? ANY_2XX,
    price: form.price,
    priceVersion: samePrice ? previous.priceVersion : makeId('price', now),
    upstreamCost: form.upstreamCost ?? null,
    payPerRequest: form.payPerRequest ?? null,
    effect: form.effect ?? (form.method === 'GET' ? 'read' : 'write'),
    idempotencyHeader: form.idempotencyHeader ?? null,
    refusedStatuses: form.refusedStatuses ?? [],
    answer: form.answer ?? 'whole',
    headersUp: (form.headersUp ?? []).map((header) => header.toLowerCase()),
    headersDown: (form.headersDown ?? []).map((header) => header.toLowerCase()),
    examples: form.examples ?? [],
    toolName: tool,
    enabled: form.enabled ?? true,
  }
}

/** The form that an API was made of, with the secret that is stored. */
export function apiFormOf(api: Api): ApiForm {
  const { auth, operations, createdAt: _c, updatedAt: _u, ...settings } = api
  return {
    ...settings,
    auth: givenAuth(auth),
    operations: operations.map(({ name: _n, priceVersion: _p, toolName: _t, ...operation }) => operation),
  }
}

/** The same with the stored secret: a sealed one is never shown. */
export function givenAuth(auth: UpstreamAuth): GivenAuth {
  if (!('secret' in auth)) return auth
  const { secret } = auth
  return { ...auth, secret: secret.from === 'environment' ? secret : { from: 'stored' } }
}

/** Whether a change would change nothing. When it was made, and versions of unchanged prices, do not count. */
export function isSameApi(a: Api, b: Api): boolean {
  return same({ ...a, updatedAt: 0 }, { ...b, updatedAt: 0 })
}

function same(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

/** JSON with the members of objects in one order. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}
