import { useMutation, useQuery } from '@tanstack/react-query'
import { providersQuery, signInWith } from '../../api/account/identities.ts'
import { initialParameter } from '../../api/account/initial-query.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { SIGN_IN_TEXT as TEXT } from '../../messages/sign-in.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'

/** Signs in or up with an identity of a provider, and comes back to `to`. Nothing where the gateway has no provider. */
export function ProviderButtons({ to }: { to: string }) {
  const providers = useQuery(providersQuery).data?.providers ?? []
  const leaving = useMutation({ mutationFn: (provider: string) => signInWith(provider, to) })
  return (
    <>
      <ProviderProblem />
      {providers.map(({ id, name }) => (
        <Button key={id} busy={leaving.isPending && leaving.variables === id} onClick={() => leaving.mutate(id)}>
          {TEXT.continueWith(name)}
        </Button>
      ))}
      <FormFailure failure={failureFrom(leaving)} />
    </>
  )
}

/** Why a provider sent the visitor back without a sign-in or a link. */
export function ProviderProblem() {
  const code = initialParameter('error')?.toLowerCase()
  if (code === undefined) return null
  const known: Readonly<Record<string, string>> = TEXT.providerProblems
  return (
    <p role="alert" className="text-bad">
      {known[code] ?? TEXT.providerFailed}
    </p>
  )
}
