import type { Model } from '../../core/models/model'
import { windowOf } from '../auth/authenticate'
import { type AuthenticatedCall, countedOn } from '../call'
import type { Load } from '../work'

/** What a call of a model loads besides tokens: the windows of its caller and of the model's family, and its upstreams. */
export function modelLoad({ caller, subjects }: AuthenticatedCall, { family, upstreams }: Model): Omit<Load, 'tokens'> {
  if (caller.kind === 'anonymous') throw new Error('an anonymous caller passed to a model')
  const window = family ? windowOf(countedOn(caller).id, family) : null
  return { subjects: window ? [...subjects, window] : subjects, window, upstreams }
}
