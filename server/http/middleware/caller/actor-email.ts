import type { Identity } from '../../../core/accounts/identity'
import { type Actor, CONSOLE } from '../../../core/audit'

/**
 * The email address of a person who acted. Null for programs, for the command line, and for users that no longer exist. One function
 * asks once for each person of its pages.
 */
export function actorEmails(
  identity: Pick<Identity, 'user'>,
): (actor: Pick<Actor, 'kind' | 'id'>) => Promise<string | null> {
  const asked = new Map<string, Promise<string | null>>()
  return async ({ kind, id }) => {
    if ((kind !== 'operator' && kind !== 'owner') || id === CONSOLE.id) return null
    const email = asked.get(id) ?? identity.user(id).then((user) => user?.email ?? null)
    asked.set(id, email)
    return email
  }
}
