import { RequestUsers } from '../../../adapters/identity/request-users'
import { accountNamedIn } from '../../../adapters/payments/mpp/credential-text'
import { LibsqlCellDirectory } from '../../../adapters/stores/libsql/cluster/cell-directory'
import type { Database } from '../../../adapters/stores/libsql/open-database'
import type { Config } from '../../../config'
import {
  type CellDirectory,
  type CellName,
  type CellRouter,
  DirectoryUnavailable,
  MAIN_CELL,
} from '../../../core/cluster/cells'
import { hashSecret, looksLikeSecret } from '../../../core/credentials/secret'
import type { AccountId } from '../../../core/ids'
import { inTime } from '../../../core/in-time'
import { hashState, looksLikeState } from '../../../core/social/state-token'
import { heldIn, otherSecrets, paymentText } from '../../../http/middleware/caller/credential'
import { keysTakenFrom } from '../../../http/middleware/request-context'
import { urlOf } from '../../../http/middleware/secured-by'
import { isGated } from '../../../http/routing/endpoint-table'
import { KnownCells } from './known-cells'

/** How long a request waits for the directory. */
const MAX_WAIT_MS = 5_000
const MAX_KNOWN = 50_000

/** Finds the users of the sessions and access tokens in requests. */
export interface UsersOfRequests {
  sessionIn(headers: Headers): string | null
  tokenIn(token: string): string
  userOfSession(stored: string): Promise<string | null>
  userOfToken(stored: string): Promise<string | null>
}

/** The part of a request that determines its cell. */
interface Trace {
  /** Always leads to the same cell. */
  readonly name: string
  /** Null: no cell has it so far. */
  find(): Promise<CellName | null>
}

const LINK_ID = /^link_[0-9a-f]{32}$/
const ACCOUNT_ID = /^acct_[0-9a-f]{32}$/

/** Paths of `/api` that do not belong to an account: sign-in, operators, the card processor's webhooks, and a link that works without a session. */
const AT_MAIN = /^\/api\/(?:(?:auth|operator)(?:\/|$)|webhooks\/stripe$|settings\/email\/confirm$)/

/**
 * Finds the cell of each request by its credential, read as the gateway of the cell will read it, and by the directory. It grants nothing: that gateway
 * authenticates the request itself. A name leads to one cell forever, so it is looked up once, unless the directory had lost keys (`refresh`).
 */
export class DirectoryRouter implements CellRouter {
  private readonly parts: {
    readonly cells: readonly CellName[]
    readonly directory: CellDirectory
    readonly users: UsersOfRequests
    /** Rises when lost keys are added to the directory again. */
    readonly revision: () => Promise<number>
  }
  private readonly known = new KnownCells(MAX_KNOWN)
  /** The directory's revision that `known` belongs to. */
  private directoryRevision: number | null = null
  private readonly asked = new Map<string, Promise<CellName>>()

  constructor(parts: DirectoryRouter['parts']) {
    this.parts = parts
  }

  cellOf(request: Request): CellName | Promise<CellName> {
    if (this.parts.cells.length === 1) return MAIN_CELL
    const trace = this.traceIn(request)
    return trace === null ? MAIN_CELL : (this.known.get(trace.name) ?? this.ask(trace))
  }

  /** Forgets the known cells if lost keys were added to the directory. Rejects while the directory does not answer. */
  async refresh(): Promise<void> {
    const revision = await this.parts.revision()
    if (revision === this.directoryRevision) return
    this.directoryRevision = revision
    this.known.clear()
  }

  /** Concurrent requests with the same name share one look-up. */
  private ask({ name, find }: Trace): Promise<CellName> {
    const revision = this.directoryRevision
    const asking =
      this.asked.get(name) ??
      inTime(find(), MAX_WAIT_MS, () => new Error('it did not answer in time'))
        .then((cell) => {
          if (cell !== null && revision === this.directoryRevision) this.known.keep(name, cell)
          return cell ?? MAIN_CELL
        })
        .catch((error: unknown) => {
          throw new DirectoryUnavailable('the directory of cells cannot be read', error)
        })
        .finally(() => this.asked.delete(name))
    this.asked.set(name, asking)
    return asking
  }

  private traceIn(request: Request): Trace | null {
    const { headers } = request
    const url = urlOf(request)
    const path = url.pathname
    if (isGated(path)) return this.socialIn(url) ?? this.payeeIn(headers, path) ?? this.callerIn(headers, url)
    if (path === '/unsubscribe') return this.accountIn(url.searchParams.get('token')?.split('.')[0])
    if (!path.startsWith('/api/') || AT_MAIN.test(path)) return null
    return this.sessionIn(headers)
  }

  private callerIn(headers: Headers, url: URL): Trace | null {
    const { users } = this.parts
    const held = heldIn(headers, otherSecrets(headers, keysTakenFrom(url), url.pathname))
    if (held?.kind === 'key') return looksLikeSecret(held.secret) ? this.claimed(hashSecret(held.secret)) : null
    if (held === null) return null
    const token = users.tokenIn(held.token)
    return this.ofUser(`token ${token}`, () => users.userOfToken(token))
  }

  private sessionIn(headers: Headers): Trace | null {
    const { users } = this.parts
    const session = users.sessionIn(headers)
    return session === null ? null : this.ofUser(`session ${session}`, () => users.userOfSession(session))
  }

  /** A browser that returns from a social network or confirms a permission granted there. */
  private socialIn({ pathname, searchParams }: URL): Trace | null {
    if (!pathname.startsWith('/apis/v1/social/oauth_callback')) return null
    const [state, link] = [searchParams.get('state'), searchParams.get('link')]
    if (state !== null) return looksLikeState(state) ? this.claimed(hashState(state)) : null
    return link !== null && LINK_ID.test(link) ? this.claimed(link) : null
  }

  /** A payment in `Authorization` tops up the account that it names, even if another header has a key. */
  private payeeIn(headers: Headers, path: string): Trace | null {
    const text = path === '/v1/wallet/topups' ? paymentText(headers) : null
    return text === null ? null : this.accountIn(accountNamedIn(text))
  }

  /** What no other cell claimed belongs to `main` or does not exist. */
  private claimed(hash: string): Trace {
    return { name: `key ${hash}`, find: async () => (await this.parts.directory.ofKey(hash)) ?? MAIN_CELL }
  }

  private accountIn(account: string | null | undefined): Trace | null {
    if (!account || !ACCOUNT_ID.test(account)) return null
    return { name: `account ${account}`, find: () => this.parts.directory.ofAccount(account as AccountId) }
  }

  private ofUser(name: string, userOf: () => Promise<string | null>): Trace {
    const find = async () => {
      const user = await userOf()
      return user === null ? null : this.parts.directory.ofUser(user)
    }
    return { name, find }
  }
}

/** The router on a connection to the control database, which this process need not own. */
export function openRouter(
  { secretKey, baseUrl }: Pick<Config, 'secretKey' | 'baseUrl'>,
  cells: readonly CellName[],
  db: Database['db'],
): DirectoryRouter {
  const users = new RequestUsers({ db, secret: secretKey, baseUrl })
  const directory = new LibsqlCellDirectory(db)
  return new DirectoryRouter({ cells, directory, users, revision: () => directory.revision() })
}
