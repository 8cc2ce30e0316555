import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { changeEmail, settingsQuery } from '../../api/account/settings.ts'
import { failureFrom } from '../../api/client/failure.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { Button } from '../../ui/button.tsx'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Field } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'

/** The email address to sign in with. */
export function EmailCard() {
  const queries = useQueryClient()
  const settings = useQuery(settingsQuery).data
  const [error, setError] = useState<string>()
  const changing = useMutation({
    mutationFn: changeEmail,
    onSuccess: async ({ outcome }) => {
      if (outcome === 'changed') void toast(TEXT.emailChanged)
      await queries.invalidateQueries({ queryKey: ['settings'] })
      await queries.invalidateQueries({ queryKey: ['account'] })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    const email = String(new FormData(form).get('email') ?? '').trim()
    const isAddress = /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)
    setError(isAddress ? undefined : TEXT.emailNeeded)
    if (!isAddress) return form.querySelector<HTMLInputElement>('[name=email]')?.focus()
    if (!changing.isPending) changing.mutate(email, { onSuccess: () => form.reset() })
  }
  if (settings === undefined) return null
  const sent = changing.data?.outcome === 'sent'
  return (
    <Card title={TEXT.email}>
      <p className="wrap-anywhere">{TEXT.emailNow(settings.email)}</p>
      <form noValidate onSubmit={submit} className="grid max-w-lg gap-4">
        <Field label={TEXT.newEmail} hint={settings.sends_mail ? TEXT.emailConfirmed : TEXT.emailAtOnce} error={error}>
          {(control) => <input {...control} name="email" type="email" autoComplete="email" required />}
        </Field>
        <p role="status" className={sent ? 'rounded-md bg-ok-soft px-3 py-2 text-ok' : 'sr-only'}>
          {sent && TEXT.emailSent(changing.variables ?? '')}
        </p>
        <FormFailure failure={failureFrom(changing)} />
        <Button type="submit" busy={changing.isPending} className="justify-self-start">
          {TEXT.changeEmail}
        </Button>
      </form>
    </Card>
  )
}
