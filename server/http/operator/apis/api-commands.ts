import { accepted, invalidParameter } from '../../../core/accounts/submitted'
import type { Api } from '../../../core/apis/api'
import type { SoldOperation } from '../../../core/apis/api-routes'
import type { ApiCatalog, Changed } from '../../../core/apis/catalog/api-catalog'
import { givenAuth } from '../../../core/apis/catalog/assemble-api'
import type { ApiForm, ImportForm } from '../../../core/apis/catalog/catalog-form'
import { type Actor, type AuditTrail, auditEntry } from '../../../core/audit'
import { type Failure, failure, wrongParameters } from '../../../core/failure'
import type { AccountId } from '../../../core/ids'
import type { Json } from '../../../core/json'
import { err, ok, type Result } from '../../../core/result'
import { isPayable, type UpToFrom } from '../../../pipeline/apis/api-sale'
import type { Trial } from '../../../pipeline/apis/try-operation'
import {
  type ApiChange,
  type ApiImport,
  type ApiLift,
  type ApiList,
  type ApiTrial,
  type ApplyForm,
  apiChange,
  apiForm,
  apiSummary,
  CatalogFile,
  type CatalogPlan,
  catalogEntry,
  catalogPlanRecord,
  type ImportPlan,
  importForm,
  importPlanRecord,
  type NewApi,
  type NewTrial,
  type OneApi,
  oneApi,
  type RemovedApi,
  trialRecord,
} from '../../apis/record'
import { validateBody } from '../../middleware/input/validate-body'
import type { CommandResult } from '../operator-roles'

export interface ApiCommandParts {
  readonly apiCatalog: ApiCatalog
  /** Asks the upstream of an operation once, without a charge. */
  readonly tryApi: (sold: SoldOperation, input: Json) => Promise<Trial>
  readonly upToFrom: UpToFrom
  readonly audit: AuditTrail
  readonly now: () => number
}

/** An operator's commands about APIs. Bodies are already validated by their schemas. */
export class ApiCommands {
  private readonly catalog: ApiCatalog
  private readonly parts: Omit<ApiCommandParts, 'apiCatalog'>

  constructor({ apiCatalog, ...parts }: ApiCommandParts) {
    this.catalog = apiCatalog
    this.parts = parts
  }

  list(): ApiList {
    return { apis: this.catalog.all().map(apiSummary) }
  }

  show(name: string): Result<OneApi, Failure> {
    const api = this.catalog.byName(name)
    if (!api) return err(failure('resource_not_found', `There is no API ${name.slice(0, 40)}.`))
    return ok(this.one(api))
  }

  /** With its operations, or with a document that describes them. */
  async create(actor: Actor, sent: NewApi): CommandResult<OneApi> {
    const { openapi, operations, only, price, prices, ...rest } = sent
    if ((openapi === undefined) === (operations === undefined))
      return err(wrongParameters([invalidParameter('operations', 'is needed, or openapi, but not both', '')]))
    if (operations) return this.described(await this.catalog.create(actor, apiForm({ ...rest, operations })))
    if (this.catalog.byName(sent.name))
      return err(
        failure('invalid_state', `An API named ${sent.name} already exists. Import its document again instead.`),
      )
    const document = {
      document: openapi ?? '',
      ...(only && { only }),
      ...(price && { price }),
      ...(prices && { prices }),
    }
    const done = await this.importDocument(actor, { ...rest, ...document }, false)
    return done.ok ? ok({ api: done.value.api, notices: done.value.notices, closed: [] }) : done
  }

  async change(actor: Actor, name: string, sent: ApiChange): CommandResult<OneApi> {
    return this.described(await this.catalog.change(actor, name, apiChange(sent)))
  }

  /** Opens operations that are closed to accounts, because their upstream claimed too much. */
  async lift(actor: Actor, name: string, sent: ApiLift): CommandResult<OneApi> {
    const account = sent.account as AccountId | undefined
    return this.described(await this.catalog.lift(actor, name, { operation: sent.operation, account }))
  }

  remove(actor: Actor, name: string): CommandResult<RemovedApi> {
    return this.catalog.remove(actor, name)
  }

  async importDocument(actor: Actor, sent: ApiImport, dryRun: boolean): CommandResult<ImportPlan> {
    const form = this.importFormOf(sent)
    if (!form.ok) return form
    const done = await this.catalog.importDocument(actor, form.value, { dryRun, confirm: sent.confirm })
    if (!done.ok) return done
    const { plan, applied } = done.value
    const notices = [...plan.notices, this.soldWithoutAccount(plan.api)]
    return ok(importPlanRecord({ ...plan, notices }, applied))
  }

  private soldWithoutAccount(api: Api): string {
    const ids = api.operations
      .filter((operation) => isPayable({ api, operation }, this.parts.upToFrom))
      .map(({ id }) => id)
    if (ids.length === 0) return 'Sold to accounts only: nothing can be paid per request.'
    const few = ids.length > 10 ? [...ids.slice(0, 10), `and ${ids.length - 10} more`] : ids
    return `Also sold without an account, where payments per request are configured: ${few.join(', ')}. To end that, set pay_per_request to false.`
  }

  /** Also of what is not enabled: before it goes live. The trial of a write is audited before it is sent: it acts at the upstream. */
  async test(actor: Actor, name: string, { operation: id, input }: NewTrial): CommandResult<ApiTrial> {
    const api = this.catalog.byName(name)
    const operation = api?.operations.find((one) => one.id === id)
    if (!api || !operation)
      return err(failure('resource_not_found', `There is no operation ${`${name}.${id}`.slice(0, 105)}.`))
    const { tryApi, audit, now } = this.parts
    const detail = { operation: `${name}.${id}` }
    if (operation.effect === 'write') await audit.write(auditEntry({ at: now(), actor, action: 'api.try', detail }))
    return ok(trialRecord(await tryApi({ api, operation }, { ...input })))
  }

  async apply(actor: Actor, { catalog, dry_run: dryRun = false, confirm }: ApplyForm): CommandResult<CatalogPlan> {
    const validated = accepted(validateBody(CatalogFile, catalog))
    if (!validated.ok) return validated
    const forms: ApiForm[] = validated.value.apis.map(apiForm)
    const done = await this.catalog.apply(actor, forms, { dryRun, confirm })
    return done.ok ? ok(catalogPlanRecord(done.value.plan, done.value.applied)) : done
  }

  /** The whole catalog, as it can be applied again. */
  export(): CatalogFile {
    return { apis: this.catalog.all().map(catalogEntry) }
  }

  /** Whether a change needs a recent sign-in: it sends a secret elsewhere, or sets one. */
  movesSecret(name: string, sent: Pick<ApiChange, 'auth' | 'base_url'>): boolean {
    return this.catalog.movesSecret(name, apiChange(sent))
  }

  private one(api: Api, notices: readonly string[] = []): OneApi {
    return oneApi(api, notices, this.catalog.closedOf(api))
  }

  private described(done: Result<Changed, Failure>): Result<OneApi, Failure> {
    return done.ok ? ok(this.one(done.value.api, done.value.notices)) : done
  }

  private importFormOf(sent: ApiImport): Result<ImportForm, Failure> {
    const previous = this.catalog.byName(sent.name)
    if (!previous && sent.base_url === undefined)
      return err(
        wrongParameters([
          invalidParameter('base_url', 'is needed for a new API (on the command line: --base URL)', ''),
        ]),
      )
    const moved = previous !== null && sent.base_url !== undefined && sent.auth === undefined
    const auth = previous ? givenAuth(previous.auth) : ({ kind: 'none' } as const)
    if (moved && this.movesSecret(sent.name, { base_url: sent.base_url ?? '' }) && 'secret' in auth)
      return err(wrongParameters([invalidParameter('auth', 'is needed: the secret was given for another host', '')]))
    return ok(importForm(sent, { baseUrl: previous?.baseUrl ?? '', auth }))
  }
}
