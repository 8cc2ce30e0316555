import type { AccountDirectory } from '../../../core/accounts/directory'
import type { Identity } from '../../../core/accounts/identity'
import { boundedBytes } from '../../../core/bounded-bytes'
import {
  type CellCalls,
  type CellDirectory,
  type CellName,
  MAIN_CELL,
  type StaffClaim,
} from '../../../core/cluster/cells'
import { formatAddress } from '../../../core/credentials/address'
import { failure } from '../../../core/failure'
import type { AccountId } from '../../../core/ids'
import { isJson, parsedJson } from '../../../core/json'
import type { OwnerSessions } from '../../middleware/caller/owner-session'
import type { RequestContext } from '../../middleware/request-context'
import { Failed } from '../../middleware/response/failures'
import { answerInTurn, answerOfAll, type CellQuestion, silentCell, unlessDown } from './all-cells'
import type { AllCells, CellTarget, CommandTarget } from './cell-routing'
import { databaseAnswers } from './database-answers'

/** How the gateway of one cell reaches the others. */
export interface OtherCells {
  /** The cell of this gateway. */
  readonly own: CellName
  readonly directory: CellDirectory
  readonly calls: CellCalls
}

interface Parts extends Omit<OtherCells, 'own'> {
  readonly identity: Pick<Identity, 'userByEmail'>
  readonly roles: Pick<AccountDirectory, 'withRole'>
}

/** A body that goes to several cells is short. */
const MAX_BODY = 1024 * 1024
/** Of the connection, or of the answer that this gateway makes of several. */
const NOT_PASSED_ON = ['accept-encoding', 'if-none-match', 'range', 'content-length', 'transfer-encoding']

/** Sends what operators ask to the cells that can answer it, from the gateway of `main`. */
export class OperatorCells {
  private readonly parts: Parts

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** The answer to a request of an operator or the support; undefined if it is of this cell, or to be refused here. */
  async answer(
    owners: Pick<OwnerSessions, 'staff'>,
    context: RequestContext,
    target: CellTarget,
    id: string | undefined,
  ): Promise<Response | undefined> {
    const { request, staff: asked } = context
    if (asked || target === 'main') return undefined
    const { role, actor, ...staff } = await owners.staff(context)
    if (role === null) return undefined
    const claim = { ...staff, role, address: formatAddress(context.address) }
    if (target === 'account') {
      const cell = await this.parts.directory.ofAccount(id as AccountId) // any text: an id that does not exist is found nowhere
      return this.sentOn(cell, request, claim)
    }
    const body = request.body && (await boundedBytes(request.body, MAX_BODY))
    if (request.body && !body) throw new Failed(failure('payload_too_large', 'The body is too large.'))
    const headers = new Headers(request.headers)
    for (const name of NOT_PASSED_ON) headers.delete(name)
    const { calls } = this.parts
    const { method, url, signal } = request
    return this.joined(target, {
      ask: (cell) => calls.ask(cell, new Request(url, { method, headers, signal, ...(body && { body }) }), claim),
      asked: (name) => context.url.searchParams.get(name),
      isUp: this.isUp,
    })
  }

  /** Runs commands of the control socket: those of this cell by `here`, others in their cells. */
  console(
    here: (request: Request) => Promise<Response>,
    targetOf: (command: string) => CommandTarget,
  ): (request: Request) => Promise<Response> {
    return async (request) => {
      const { calls } = this.parts
      const command = new URL(request.url).pathname.slice(1)
      const target = targetOf(command)
      if (target === 'main') return here(request)
      const body = await request.bytes()
      const form = parsedJson(new TextDecoder().decode(body))
      const values = isJson(form) ? form : {}
      const asked = (name: string) => (values[name] === undefined ? null : String(values[name]))
      const { headers } = request
      const ask = (cell: CellName) =>
        cell === MAIN_CELL
          ? here(new Request(request.url, { method: 'POST', headers, body }))
          : calls.command(cell, command, body)
      if (target === 'named') return ask(calls.cells().find((cell) => cell === asked('cell')) ?? MAIN_CELL)
      if (target === 'account' || target === 'operator') {
        const name = asked('account') ?? (target === 'operator' ? this.onlyOperator() : null)
        return ask((await this.cellOf(name)) ?? MAIN_CELL)
      }
      return this.joined(target, { ask, asked, isUp: this.isUp })
    }
  }

  /** What the cell of an account answers to a request of nobody; undefined if it is this cell, or there is no such account. */
  async askOfAccount(account: AccountId, request: Request): Promise<Response | undefined> {
    return this.sentOn(await this.parts.directory.ofAccount(account), request)
  }

  /** The cell of an account, which is named by its id or email address; null if there is none. */
  private async cellOf(name: string | null): Promise<CellName | null> {
    if (name === null) return null
    const { directory, identity } = this.parts
    if (!name.includes('@')) return directory.ofAccount(name as AccountId) // as above
    const user = await identity.userByEmail(name)
    return user && directory.ofUser(user.id)
  }

  private onlyOperator(): AccountId | null {
    const [only = null, ...others] = this.parts.roles.withRole('operator')
    return others.length === 0 ? only : null
  }

  private async sentOn(cell: CellName | null, request: Request, staff?: StaffClaim): Promise<Response | undefined> {
    if (cell === null || cell === MAIN_CELL) return undefined
    const ask = () => this.parts.calls.ask(cell, request, staff)
    // Whether a write ran is what its answer says, however late.
    if (request.method !== 'GET') return ask()
    return unlessDown(cell, { ask, isUp: this.isUp }).catch(() => silentCell(cell))
  }

  private readonly isUp = (cell: CellName) => databaseAnswers(this.parts.calls, cell)

  private joined(target: AllCells | 'record', question: CellQuestion): Promise<Response> {
    const cells = this.parts.calls.cells()
    return target === 'record' ? answerInTurn(cells, question) : answerOfAll(cells, target, question)
  }
}
