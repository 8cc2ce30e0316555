import type { Audience } from '../../../core/credentials/oauth-grant'

/** Which protected resource a path belongs to (spec D10). */
export function audienceOf(path: string): Audience {
  if (path === '/mcp' || path.startsWith('/mcp/')) return '/mcp'
  return path.startsWith('/apis/') ? '/apis/v1' : '/v1'
}
