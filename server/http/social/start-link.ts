import { accepted } from '../../core/accounts/submitted'
import { type Address, formatAddress } from '../../core/credentials/address'
import type { Failure } from '../../core/failure'
import { err, ok, type Result } from '../../core/result'
import { countedOn, type KnownCaller } from '../../pipeline/call'
import { actingKey } from '../../pipeline/social/social-actions'
import { validateBody } from '../middleware/input/validate-body'
import { linkAnswer, NewSocialLink, NO_NETWORK, type Social, type SocialLink } from './record'

/** Starts linking a social account to the key of a caller (spec 4.3). `sent`: the body of the request; undefined if there is none. */
export async function startLink(
  social: Social | null,
  caller: KnownCaller,
  address: Address,
  sent: unknown,
): Promise<Result<SocialLink, Failure>> {
  const form = accepted(validateBody(NewSocialLink, sent === undefined ? {} : sent))
  if (!form.ok) return form
  const { key_id: keyId, scopes = [] } = form.value
  if (!social) return err(NO_NETWORK)
  const key = await actingKey(social, caller, keyId)
  if (!key.ok) return key
  const actor = { kind: 'owner', id: countedOn(caller).id, address: formatAddress(address) } as const
  return ok(linkAnswer(await social.linking.start(key.value, scopes, actor)))
}
