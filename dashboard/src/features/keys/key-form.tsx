import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { accountQuery } from '../../api/account.ts'
import { type ApiFailure, asFailure, failureIn } from '../../api/failure.ts'
import { type ApiKey, changeKey, createKey } from '../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../ui/states.tsx'
import { toast } from '../../ui/toast.ts'
import { KeyFields } from './key-fields.tsx'
import { judgeKey, type KeyErrors, type KeyTyped, settingsOf, typedOf } from './key-form-values.ts'
import { useBudgetZone } from './use-budget-zone.ts'
import { useKeysRefresh } from './use-key-doings.ts'

export interface MadeKey {
  readonly key: ApiKey
  readonly secret: string
}

/** Makes a key or changes one: the same form. What was typed is never cleared by a refusal. */
export function KeyForm({ apiKey, focus, onClose, onMade }: KeyFormProps) {
  const [typed, setTyped] = useState<KeyTyped>(() => startOf(apiKey, focus))
  const [errors, setErrors] = useState<KeyErrors>({})
  const timezone = useBudgetZone(apiKey)
  const ip = useQuery(accountQuery).data?.ip ?? null
  const saving = useMutation({
    mutationFn: async () => {
      const settings = settingsOf(typed, apiKey, timezone)
      if (apiKey === null) return { made: await createKey(settings) }
      return { changed: (await changeKey(apiKey.id, settings)).key }
    },
    onSuccess: ({ made, changed }) => {
      if (made) return onMade(made)
      void toast(TEXT.changed(changed.name))
      onClose()
    },
    onError: (error) => setErrors(refusedFields(asFailure(error), typed)),
    ...useKeysRefresh(),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const wrong = judgeKey(typed)
    setErrors(wrong)
    const form = event.currentTarget
    const first = [...form.querySelectorAll<HTMLElement>('[name]')].find(
      (control) => (control.getAttribute('name') ?? '') in wrong,
    )
    if (first) return first.focus()
    if (!saving.isPending) saving.mutate()
  }
  const failure = failureIn(saving)
  const wrongCount = Object.keys(errors).length
  const title = apiKey ? TEXT.edit : TEXT.create
  return (
    <Dialog title={title} onClose={onClose}>
      <form noValidate onSubmit={submit} className="grid gap-4">
        <KeyFields
          typed={typed}
          errors={errors}
          apiKey={apiKey}
          ip={ip}
          focus={focus}
          onChange={(part) => setTyped((before) => ({ ...before, ...part }))}
          onLeave={(field) => setErrors((before) => judgedAgain(before, field, typed))}
        />
        <p role="status" className="sr-only">
          {wrongCount > 0 && UI_TEXT.summary(wrongCount)}
        </p>
        {wrongCount === 0 && <FormFailure failure={failure} />}
        <DialogButtons>
          <Button onClick={onClose}>{TEXT.cancel}</Button>
          <Button type="submit" tone="primary" busy={saving.isPending}>
            {apiKey ? TEXT.save : TEXT.create}
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

type KeyFormProps = {
  apiKey: ApiKey | null
  focus?: 'limit' | 'expires' | undefined
  onClose: () => void
  onMade: (made: MadeKey) => void
}

/** A form that was opened to raise a limit or to extend stands ready for it. */
function startOf(apiKey: ApiKey | null, focus: 'limit' | 'expires' | undefined): KeyTyped {
  const typed = typedOf(apiKey)
  return focus === 'expires' ? { ...typed, expires: '30' } : typed
}

/** Judges one field that was left; the others keep what they said. */
function judgedAgain(before: KeyErrors, field: keyof KeyTyped, typed: KeyTyped): KeyErrors {
  const { [field]: _old, ...rest } = before
  const now = judgeKey(typed)[field]
  return now === undefined ? rest : { ...rest, [field]: now }
}

/** The server's refusal, at the fields that it names. */
function refusedFields(failure: ApiFailure, typed: KeyTyped): KeyErrors {
  const places: Readonly<Record<string, keyof KeyTyped>> = {
    name: 'name',
    spending_limit: 'limit',
    allowed_ips: 'ips',
    expires_at: 'expiresDate',
    budget: 'budget',
    rpm_limit: 'rpm',
    tpm_limit: 'tpm',
    allowed_endpoints: 'endpoints',
    allowed_models: 'models',
  }
  const errors: KeyErrors = {}
  for (const { param, rule } of failure.fields) {
    const field = places[param]
    if (field) errors[field] = rule.includes('another key') ? TEXT.nameTaken(typed.name.trim()) : `${param} ${rule}.`
  }
  return errors
}
