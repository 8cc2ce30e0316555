import { isOperationName, OPERATIONS } from '../../core/catalogue/operations'
import type { Scope } from '../../core/credentials/oauth-grant'
import type { Destination } from '../call'

/** Free routes by the name they have in the log. A route that is not here takes keys only, until somebody decides. */
const FREE: Readonly<Record<string, Scope | 'any'>> = {
  usage: 'usage:read',
  'usage-request': 'usage:read',
  balance: 'usage:read',
  'wallet-topup': 'wallet:topup',
  topups: 'wallet:topup',
  whoami: 'any',
  models: 'any',
  model: 'any',
  keys: 'keys:write',
  'social-link': 'social:write',
  // Each tool is judged by itself.
  mcp: 'any',
}

/** What an app must have been allowed to go there; `none` can be allowed to no app (spec-answers 10). */
export function neededScope(destination: Destination): Scope | 'any' | 'none' {
  if (destination.kind === 'nowhere' || destination.kind === 'open') return 'any'
  if (destination.kind === 'free')
    return Object.hasOwn(FREE, destination.name) ? (FREE[destination.name] ?? 'none') : 'none'
  const { operation } = destination
  if (!isOperationName(operation)) return 'models:use'
  return OPERATIONS[operation].path.startsWith('/apis/v1/social/') ? 'social:write' : 'data:read'
}
