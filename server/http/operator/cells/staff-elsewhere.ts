import { roleFlags } from '../../../core/accounts/account'
import type { AccountDirectory } from '../../../core/accounts/directory'
import { type CellCalls, MAIN_CELL } from '../../../core/cluster/cells'
import { failure } from '../../../core/failure'
import { isJson } from '../../../core/json'
import type { AccountElsewhere } from '../../middleware/caller/owner-session'
import { Failed, isFailureCode } from '../../middleware/response/failures'

/**
 * The account of an operator of another cell: its gateway opens it if need be, and says whether it is suspended. The role is the directory's.
 */
export function accountElsewhere(
  directory: Pick<AccountDirectory, 'homeOf' | 'roleOf'>,
  calls: CellCalls,
): AccountElsewhere {
  return async ({ userId }, { request }) => {
    const home = await directory.homeOf(userId)
    if (!home || home.cell === MAIN_CELL) return null
    const { headers, signal } = request
    const kept = { cookie: headers.get('cookie') ?? '' }
    const ask = new Request(new URL('/api/account', request.url), { headers: kept, signal })
    const answer = await calls.ask(home.cell, ask)
    if (!answer.ok) throw refusal(await answer.json().catch(() => null))
    await answer.body?.cancel()
    return { id: home.accountId, ...roleFlags(directory.roleOf(home.accountId)) }
  }
}

/** What the cell refuses, such as a suspended account; else that it does not answer. */
function refusal(body: unknown): Failed {
  const error = isJson(body) && isJson(body['error']) ? body['error'] : {}
  const { code, message } = error
  if (typeof code === 'string' && isFailureCode(code) && typeof message === 'string')
    return new Failed(failure(code, message))
  return new Failed(
    failure('service_unavailable', 'Your account could not be loaded. Try again.', { retryAfterSeconds: 1 }),
  )
}
