import type { Static } from '@sinclair/typebox'
import type { LinkedIdentity } from '../../core/accounts/identity'
import type { SignInProvider } from '../../core/accounts/sign-in-provider'
import { isoTime } from '../../core/clock'
import { instant, listOf, record, text } from '../openapi/json-schema'

const PROVIDER = { id: text('Id of the provider.'), name: text('What people know it by.') }

export const ProviderList = record('The providers whose identities sign in at this gateway.', {
  providers: listOf(record('A provider.', PROVIDER), 'The providers.'),
})
export type ProviderList = Static<typeof ProviderList>

export const IdentityList = record('The identities that sign the user in.', {
  identities: listOf(
    record('An identity at a provider.', {
      id: text('Id of the link.'),
      provider: record('The provider.', PROVIDER),
      linked_at: instant('When it was linked.'),
    }),
    'The identities, oldest first.',
  ),
})
export type IdentityList = Static<typeof IdentityList>

/** `providers`: those that the gateway has. An identity of another one is kept for when it comes back. */
export function identityList(
  identities: readonly LinkedIdentity[],
  providers: readonly Pick<SignInProvider, 'id' | 'name'>[],
): IdentityList {
  const nameOf = (id: string) => providers.find((one) => one.id === id)?.name ?? id
  return {
    identities: identities.map(({ id, provider, linkedAt }) => ({
      id,
      provider: { id: provider, name: nameOf(provider) },
      linked_at: isoTime(linkedAt),
    })),
  }
}
