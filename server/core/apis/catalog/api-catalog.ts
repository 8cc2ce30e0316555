import { type Actor, type AuditAction, auditEntry } from '../../audit'
import type { ImportedName } from '../../catalog/operation'
import type { ParameterError } from '../../catalog/parameters'
import { type Clock, DAY_MS, isoDay } from '../../clock'
import { type Failure, failure, wrongParameters } from '../../failure'
import type { AccountId } from '../../ids'
import { KeyedMutex } from '../../keyed-mutex'
import type { OutboundFetch } from '../../outbound/outbound-fetch'
import { err, ok, type Result } from '../../result'
import type { Sealing } from '../../sealing'
import type { Api } from '../api'
import { type ApiSurroundings, apiProblems } from '../api-rules'
import type { ApiRegistry, ApiStore, ApiWrite } from '../api-store'
import type { ApiClosing, Closings } from '../closings'
import { apiFormOf, assembleApi, givenAuth, isSameApi } from './assemble-api'
import type { ApiChange, ApiForm, ImportForm, OperationForm } from './catalog-form'
import { apiPlan, type CatalogPlan, type ImportPlan, planHash } from './catalog-plan'
import { importDiff } from './diff'
import { pricedOperations, soldPart, unknownPrices } from './import-plan'
import type { ImportDocument } from './imported'
import { NoStoredSecret, secretOrigins } from './sealed-auth'

/** How long the name of a removed API cannot be used again. */
const NAME_REST_MS = 30 * DAY_MS

export interface CatalogParts extends ApiSurroundings {
  readonly store: ApiStore
  readonly closings: Closings
  readonly registry: ApiRegistry
  /** Resolves when each process that serves calls has a change of the registry. */
  readonly changed: () => Promise<unknown>
  readonly clock: Clock
  readonly sealing: Sealing
  readonly importDocument: ImportDocument
  /** Fetches documents that an imported one refers to, on addresses of strangers. */
  readonly fetchExternal: OutboundFetch
  /** Whether an environment variable is set. */
  readonly isSet: (variable: string) => boolean
  /** Whether an upstream may not have this host: it is a private address that no setting allows. */
  readonly isClosedHost: (host: string) => boolean
}

/** An API after a change, and what its operator should know. */
export interface Changed {
  readonly api: Api
  readonly notices: readonly string[]
}

type Answer<T> = Promise<Result<T, Failure>>

/**
 * Puts APIs on sale, changes and removes them. Changes happen one after the other. When one resolves it is durable, in the audit log,
 * and applies to the next call; calls in progress keep what they were admitted with.
 */
export class ApiCatalog {
  private readonly parts: CatalogParts
  private readonly mutex = new KeyedMutex()

  constructor(parts: CatalogParts) {
    this.parts = parts
  }

  /** All APIs by name, also those that are disabled. */
  all(): readonly Api[] {
    return this.parts.registry.routes.apis
  }

  byName(name: string): Api | null {
    return this.all().find((api) => api.name === name) ?? null
  }

  create(actor: Actor, form: ApiForm): Answer<Changed> {
    return this.exclusive(async () => {
      if (this.byName(form.name))
        return err(failure('invalid_state', `An API named ${form.name} already exists. Update it instead.`))
      const api = await this.assembled(form, null)
      return api.ok ? this.saved(actor, 'api.create', api.value, null, []) : api
    })
  }

  /** Changes settings and operations. A secret is kept only for the scheme, host and port that it was given for. */
  change(actor: Actor, name: string, change: ApiChange): Answer<Changed> {
    return this.exclusive(async () => {
      const previous = this.byName(name)
      if (!previous) return err(unknownApi(name))
      const { form, errors, dropped } = changedForm(previous, change)
      if (errors.length > 0) return err(wrongParameters(errors))
      const api = await this.assembled(form, previous)
      if (!api.ok) return api
      if (isSameApi(api.value, previous)) return ok({ api: previous, notices: [] })
      return this.saved(actor, 'api.change', api.value, previous, dropped ? [DROPPED] : [])
    })
  }

  remove(actor: Actor, name: string): Answer<{ readonly name: string }> {
    return this.exclusive(async () => {
      const api = this.byName(name)
      if (!api) return err(unknownApi(name))
      const written = await this.written([this.removal(actor, api)])
      return written.ok ? ok({ name }) : written
    })
  }

  /** The closed operations of an API, with accounts and times. */
  closedOf(api: Api): readonly ApiClosing[] {
    return this.parts.closings.of(api)
  }

  /** Opens an API, or one operation of it, to one account or to all that it is closed to. */
  lift(
    actor: Actor,
    name: string,
    { operation, account }: { readonly operation?: string | undefined; readonly account?: AccountId | undefined },
  ): Answer<Changed> {
    return this.exclusive(async () => {
      const api = this.byName(name)
      if (!api) return err(unknownApi(name))
      const operations = api.operations.filter(({ id }) => operation === undefined || id === operation)
      if (operations.length === 0)
        return err(failure('resource_not_found', `There is no operation ${`${name}.${operation}`.slice(0, 105)}.`))
      const detail = { name, operation: operation ?? null, account: account ?? null }
      const audit = auditEntry({ at: this.parts.clock.now(), actor, action: 'api.lift', detail })
      await this.parts.closings.lift(
        operations.map((one) => one.name),
        account ?? null,
        audit,
      )
      return ok({ api, notices: [] })
    })
  }

  /**
   * Puts the operations of a document on sale, or brings an API up to date with its document. A dry run only shows the plan. Changes of
   * an API that is there need its `confirm`.
   */
  importDocument(
    actor: Actor,
    form: ImportForm,
    { dryRun, confirm }: { readonly dryRun: boolean; readonly confirm?: string | undefined },
  ): Answer<{ readonly plan: ImportPlan; readonly applied: boolean }> {
    return this.exclusive(async () => {
      const planned = await this.importPlan(form)
      if (!planned.ok) return planned
      const plan = planned.value
      const previous = this.byName(form.name)
      if (dryRun) return ok({ plan, applied: false })
      if (plan.api.operations.length === 0)
        return err(failure('invalid_parameter', nothingToSell(plan), { param: 'document' }))
      if (previous && isSameApi(plan.api, previous)) return ok({ plan, applied: true })
      if (previous && confirm !== plan.confirm) return err(failure('invalid_state', UNCONFIRMED))
      const saved = await this.saved(actor, 'api.import', plan.api, previous, plan.notices)
      return saved.ok ? ok({ plan, applied: true }) : saved
    })
  }

  /**
   * Makes the catalog what these forms say, or changes nothing: APIs that are not among them are removed. Removing anything needs the
   * plan's `confirm`.
   */
  apply(
    actor: Actor,
    forms: readonly ApiForm[],
    { dryRun, confirm }: { readonly dryRun: boolean; readonly confirm?: string | undefined },
  ): Answer<{ readonly plan: CatalogPlan; readonly applied: boolean }> {
    return this.exclusive(async () => {
      const assembled = await this.assembledAll(forms)
      if (!assembled.ok) return assembled
      const next = assembled.value
      const current = this.all()
      const removed = current.filter(({ name }) => !next.some((api) => api.name === name))
      const plan: CatalogPlan = {
        apis: [...next.map((api) => apiPlan(api, this.byName(api.name))), ...removed.map((api) => apiPlan(null, api))],
        notices: next.flatMap((api) => this.notices(api)),
        confirm: planHash(next, current),
      }
      const removes = plan.apis.some(({ action, removed }) => action === 'remove' || removed.length > 0)
      if (dryRun) return ok({ plan, applied: false })
      if (confirm === undefined ? removes : confirm !== plan.confirm) return err(failure('invalid_state', UNCONFIRMED))
      const differ = next.filter((api) => !current.some((one) => one.name === api.name && isSameApi(api, one)))
      const written = await this.written([
        ...removed.map((api) => this.removal(actor, api)),
        ...differ.map((api) => this.saving(actor, 'api.apply', api, this.byName(api.name))),
      ])
      return written.ok ? ok({ plan, applied: true }) : written
    })
  }

  /** Whether a change sends a secret to another place, or sets one. On the web it needs a recent second sign-in. */
  movesSecret(name: string, change: Pick<ApiChange, 'auth' | 'baseUrl'>): boolean {
    const previous = this.byName(name)
    if (!previous) return true
    const { auth = givenAuth(previous.auth), baseUrl = previous.baseUrl } = change
    if (secretOrigins({ auth, baseUrl }) !== secretOrigins({ ...previous, auth: givenAuth(previous.auth) })) return true
    return change.auth !== undefined && JSON.stringify(change.auth) !== JSON.stringify(givenAuth(previous.auth))
  }

  private async importPlan(form: ImportForm): Answer<ImportPlan> {
    const { importDocument, fetchExternal } = this.parts
    const { document: text, only, origin, price, prices, ...settings } = form
    const previous = this.byName(form.name)
    const read = await importDocument(text, {
      baseUrl: form.baseUrl,
      ...(only && { only }),
      ...(origin !== undefined && { origin, fetchExternal }),
    })
    if (!read.ok) return err(failure('invalid_parameter', read.error.message, { param: 'document' }))
    const unknown = unknownPrices(read.value, { prices })
    if (unknown.length > 0) return err(problem('prices', `names no operation of the document: ${unknown.join(', ')}`))
    const priced = pricedOperations(read.value, previous?.operations ?? [], { price, prices })
    const whole = await this.assembled(
      {
        ...(previous && apiFormOf(previous)),
        title: read.value.title,
        description: read.value.description,
        ...settings,
        operations: priced.operations,
      },
      previous,
      'parts',
    )
    if (!whole.ok) return whole
    const sold = soldPart(whole.value)
    const problems = apiProblems(sold.api, this.parts)
    if (problems.length > 0) return err(wrongParameters(problems))
    return ok({
      api: sold.api,
      isNew: previous === null,
      diff: importDiff(previous?.operations ?? [], sold.api.operations),
      refused: [...priced.refused, ...sold.refused],
      notices: [
        ...read.value.notices,
        ...basePathNotice(sold.api.baseUrl, read.value.servers),
        ...this.notices(sold.api),
      ],
      confirm: planHash([sold.api], previous ? [previous] : []),
    })
  }

  private async assembledAll(forms: readonly ApiForm[]): Answer<readonly Api[]> {
    const names = forms.map(({ name }) => name)
    const twice = names.find((name, i) => names.indexOf(name) !== i)
    if (twice !== undefined) return err(problem('apis', `declares ${twice} twice`))
    const found: Api[] = []
    const tools = new Map(await this.parts.store.toolNames())
    for (const form of forms) {
      const api = await this.assembled(form, this.byName(form.name), 'whole', tools)
      if (!api.ok) return err({ ...api.error, message: `${form.name}: ${api.error.message}` })
      for (const { name, toolName } of api.value.operations) tools.set(toolName, name)
      found.push(api.value)
    }
    return ok(found)
  }

  /** An API that keeps all rules. `parts`: broken rules are left to `soldPart`. `tools`: every tool name that is given. */
  private async assembled(
    form: ApiForm,
    previous: Api | null,
    rules: 'whole' | 'parts' = 'whole',
    tools?: ReadonlyMap<string, ImportedName>,
  ): Answer<Api> {
    const { store, clock, sealing } = this.parts
    const now = clock.now()
    const removedAt = previous ? null : await store.removedAt(form.name)
    if (removedAt !== null && now < removedAt + NAME_REST_MS) {
      const free = isoDay(removedAt + NAME_REST_MS)
      return err(problem('name', `was removed lately; it can be used again from ${free}. Choose another name`))
    }
    const kept = previous && secretOrigins(form) === secretOrigins({ ...previous, auth: givenAuth(previous.auth) })
    try {
      const api = assembleApi(
        form,
        previous,
        { now, sealing, tools: tools ?? (await store.toolNames()) },
        kept === true,
      )
      const problems = rules === 'whole' ? apiProblems(api, this.parts) : []
      return problems.length > 0 ? err(wrongParameters(problems)) : ok(api)
    } catch (error) {
      if (!(error instanceof NoStoredSecret)) throw error
      return err(
        problem('auth', 'keeps a secret that is not stored for this host. Send the secret, or name a variable'),
      )
    }
  }

  private async saved(
    actor: Actor,
    action: AuditAction,
    api: Api,
    previous: Api | null,
    notices: readonly string[],
  ): Answer<Changed> {
    const written = await this.written([this.saving(actor, action, api, previous)])
    return written.ok ? ok({ api, notices: [...new Set([...notices, ...this.notices(api)])] }) : written
  }

  private saving(actor: Actor, action: AuditAction, api: Api, previous: Api | null): ApiWrite {
    const before = previous && settingsOf(previous)
    const audit = auditEntry({ at: api.updatedAt, actor, action, detail: auditDetail(api, previous), before })
    const wasOff = new Set(previous?.operations.filter(({ enabled }) => !enabled).map(({ id }) => id))
    const reopened = api.operations.filter(({ id, enabled }) => enabled && wasOff.has(id)).map(({ name }) => name)
    return { kind: 'save', api, expected: previous?.updatedAt ?? null, reopened, audit }
  }

  private removal(actor: Actor, api: Api): ApiWrite {
    const { name, updatedAt } = api
    const at = this.parts.clock.now()
    const audit = auditEntry({ at, actor, action: 'api.remove', detail: { name }, before: settingsOf(api) })
    return { kind: 'remove', name, at, expected: updatedAt, audit }
  }

  /** Stores all these changes and puts them in force in one step, or changes nothing. */
  private async written(changes: readonly ApiWrite[]): Answer<null> {
    const { store, registry, closings, changed } = this.parts
    if (!(await store.write(changes))) return err(failure('invalid_state', OVERTAKEN))
    const apis = new Map(this.all().map((api) => [api.name, api]))
    for (const change of changes) {
      if (change.kind === 'save') apis.set(change.api.name, change.api)
      else apis.delete(change.name)
      if (change.kind === 'save') closings.forget(change.reopened)
    }
    if (changes.length > 0) registry.replace([...apis.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))
    await changed()
    return ok(null)
  }

  private notices({ auth, baseUrl }: Api): string[] {
    const notices: string[] = []
    const variable = 'secret' in auth && auth.secret.from === 'environment' ? auth.secret.name : null
    if (variable !== null && !this.parts.isSet(variable))
      notices.push(`${variable} is not set. Calls fail until the gateway starts with it.`)
    const { hostname } = new URL(baseUrl)
    if (this.parts.isClosedHost(hostname))
      notices.push(`${hostname} is not a public address. Calls fail until ALLOW_PRIVATE_UPSTREAMS allows it.`)
    return notices
  }

  private exclusive<T>(task: () => Promise<T>): Promise<T> {
    return this.mutex.take('catalog', task)
  }
}

const OVERTAKEN = 'The catalog was changed at the same time. Nothing of this was done. Look at it and try again.'
const DROPPED =
  'The secret was dropped, because the scheme, host or port changed. Set auth again; until then calls carry no authentication.'
const UNCONFIRMED =
  'This changes or removes what is on sale. Look at the plan with dry_run=true, then send its confirm to do exactly that.'

/** The form after a change; `dropped`: the secret was given for another place. */
function changedForm(previous: Api, change: ApiChange) {
  const { operations = [], without = [], ...settings } = change
  const before = apiFormOf(previous)
  const errors: ParameterError[] = []
  const known = new Map<string, OperationForm>(before.operations.map((operation) => [operation.id, operation]))
  for (const id of without)
    if (!known.delete(id)) errors.push(parameterError('remove_operations', `names no operation: ${id.slice(0, 64)}`))
  for (const one of operations) {
    const { method, path, price } = { ...known.get(one.id), ...one }
    if (method === undefined || path === undefined || price === undefined)
      errors.push(parameterError(`operations.${one.id.slice(0, 64)}`, 'is new, so it needs method, path and price'))
    else known.set(one.id, { ...settingsFor(known.get(one.id), method), ...one, method, path, price })
  }
  const form: ApiForm = { ...before, ...settings, operations: [...known.values()] }
  const moved = secretOrigins(form) !== secretOrigins(before)
  const dropped = moved && change.auth === undefined && 'secret' in before.auth
  return { form: dropped ? { ...form, auth: { kind: 'none' as const } } : form, errors, dropped }
}

/** The settings that an operation keeps with this method: a GET that becomes a POST is a write, unless its effect is given again. */
function settingsFor(operation: OperationForm | undefined, method: OperationForm['method']): Partial<OperationForm> {
  if (!operation || operation.method === method) return operation ?? {}
  const { effect: _, ...others } = operation
  return others
}

function auditDetail(api: Api, previous: Api | null): Record<string, unknown> {
  const { added, changed, removed, settings } = apiPlan(api, previous)
  const few = (list: readonly string[]) =>
    list.length > 50 ? [...list.slice(0, 50), `and ${list.length - 50} more`] : list
  return {
    ...settingsOf(api),
    settings,
    added: few(added),
    changed: few(changed),
    removed: few(removed),
  }
}

/** An API in the audit log. Of its authentication only the kind. */
function settingsOf({ name, baseUrl, auth, enabled }: Api) {
  return { name, baseUrl, auth: auth.kind, enabled }
}

/** The paths of a document follow its own servers, whose base path the operator's URL may lack. */
function basePathNotice(baseUrl: string, servers: readonly string[]): string[] {
  const called = new URL(baseUrl).pathname
  const [first, ...others] = servers.map((server) => new URL(server).pathname).filter((path) => path !== '/')
  if (first === undefined || [first, ...others].some((path) => called.endsWith(path))) return []
  return [
    `The document's server has the base path ${first}, and base_url does not: calls go to ${baseUrl} without it. If it belongs to the API, end base_url with it.`,
  ]
}

function nothingToSell({ refused }: ImportPlan): string {
  const [one] = refused
  const why = one ? ` ${one.name}: ${one.reason}` : ''
  return `Nothing of this document can be sold.${why}`
}

function unknownApi(name: string): Failure {
  return failure('resource_not_found', `There is no API ${name.slice(0, 40)}.`)
}

function problem(param: string, rule: string): Failure {
  return wrongParameters([parameterError(param, rule)])
}

function parameterError(param: string, rule: string): ParameterError {
  return { param, in: 'body', code: 'invalid_parameter', rule, received: '' }
}
