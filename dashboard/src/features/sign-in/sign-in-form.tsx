import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { signIn } from '../../api/account/account.ts'
import { initialParameter } from '../../api/account/initial-query.ts'
import { canUsePasskeys, isCancelled, passkeySignIn } from '../../api/account/second-factor.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { SECOND_FACTOR_TEXT as TEXT } from '../../messages/second-factor.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { CredentialsForm } from './credentials-form.tsx'
import { ProviderButtons } from './provider-buttons.tsx'
import { SecondFactorForm } from './second-factor-form.tsx'

/** Signs in: with the password or an identity of a provider, then a second factor if the owner has one; or with a passkey. */
export function SignInForm({ email, to, onDone, children }: SignInFormProps) {
  const [needsCode, setNeedsCode] = useState(asksForCode)
  if (needsCode)
    return (
      <SecondFactorForm onDone={onDone} onBack={() => setNeedsCode(false)}>
        <PasskeyButton onDone={onDone} />
      </SecondFactorForm>
    )
  const submit = async (address: string, password: string) => {
    if ((await signIn(address, password)) === 'second_factor') setNeedsCode(true)
    else onDone()
  }
  return (
    <CredentialsForm purpose="sign-in" submit={submit} {...(email !== undefined && { email })}>
      <PasskeyButton onDone={onDone} />
      <ProviderButtons to={to} />
      {children}
    </CredentialsForm>
  )
}

/** A provider sent the owner back, who has a second factor here. */
const asksForCode = () => window.location.pathname === '/sign-in' && initialParameter('second_factor') !== undefined

/** `to`: where a sign-in by a provider comes back to. */
type SignInFormProps = { email?: string; to: string; onDone: () => void; children?: ReactNode }

function PasskeyButton({ onDone }: { onDone: () => void }) {
  const signingIn = useMutation({ mutationFn: passkeySignIn, onSuccess: onDone })
  if (!canUsePasskeys()) return null
  return (
    <>
      <Button busy={signingIn.isPending} onClick={() => signingIn.mutate()}>
        {TEXT.usePasskey}
      </Button>
      {signingIn.error && isCancelled(signingIn.error) ? (
        <p role="alert" className="text-bad">
          {TEXT.passkeySignInFailed}
        </p>
      ) : (
        <FormFailure failure={failureFrom(signingIn)} />
      )}
    </>
  )
}
