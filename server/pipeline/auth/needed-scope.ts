import { isOperationName, OPERATIONS } from '../../core/catalogue/operations'
import type { Scope } from '../../core/credentials/oauth-grant'
import type { Route } from '../call'

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
export function neededScope(route: Route): Scope | 'any' | 'none' {
  if (route.kind === 'unmatched' || route.kind === 'public') return 'any'
  if (route.kind === 'free') return Object.hasOwn(FREE, route.name) ? (FREE[route.name] ?? 'none') : 'none'
  const { operation } = route
  if (!isOperationName(operation)) return 'models:use'
  return OPERATIONS[operation].path.startsWith('/apis/v1/social/') ? 'social:write' : 'data:read'
}
