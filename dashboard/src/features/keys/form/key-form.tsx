import { useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { accountQuery } from '../../../api/account/account.ts'
import { useTimezone } from '../../../api/account/settings.ts'
import { type ApiFailure, failureFrom, toApiFailure } from '../../../api/client/failure.ts'
import { type ApiKey, changeKey, createKey } from '../../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { UI_TEXT } from '../../../messages/ui.ts'
import { Button } from '../../../ui/button.tsx'
import { Dialog, DialogButtons } from '../../../ui/dialogs/dialog.tsx'
import { FormFailure } from '../../../ui/feedback/failure.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { settingName, TYPED_NAMES } from '../typed-settings.ts'
import { useKeysRefresh } from '../use-key-actions.ts'
import { KeyFields } from './key-fields.tsx'
import { initialValues, type KeyErrors, type KeyFormValues, toSettings, validateKey } from './key-form-values.ts'

export interface CreatedKey {
  readonly key: ApiKey
  readonly secret: string
}

/** Creates or edits a key. Input is kept if the server refuses it. */
export function KeyForm({ apiKey, focus, onClose, onCreated }: KeyFormProps) {
  const [values, setTyped] = useState<KeyFormValues>(() => openingValues(apiKey, focus))
  const [errors, setErrors] = useState<KeyErrors>({})
  const timezone = useTimezone()
  const ip = useQuery(accountQuery).data?.ip ?? null
  const saving = useMutation({
    mutationFn: async () => {
      const settings = toSettings(values, apiKey, timezone)
      if (apiKey === null) return { made: await createKey(settings) }
      return { changed: (await changeKey(apiKey.id, settings)).key }
    },
    onSuccess: ({ made, changed }) => {
      if (made) return onCreated(made)
      void toast(TEXT.changed(changed.name))
      onClose()
    },
    onError: (error) => setErrors(fieldErrors(toApiFailure(error))),
    ...useKeysRefresh(),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const wrong = validateKey(values)
    setErrors(wrong)
    const form = event.currentTarget
    const first = [...form.querySelectorAll<HTMLElement>('[name]')].find(
      (control) => (control.getAttribute('name') ?? '') in wrong,
    )
    if (first) return first.focus()
    if (!saving.isPending) saving.mutate()
  }
  const change = (part: Partial<KeyFormValues>) => {
    const next = { ...values, ...part }
    setTyped(next)
    setErrors((before) => withoutMended(before, part, next))
  }
  const failure = failureFrom(saving)
  const wrongCount = Object.keys(errors).length
  const title = apiKey ? TEXT.edit : TEXT.create
  return (
    <Dialog title={title} onClose={onClose}>
      <form noValidate onSubmit={submit} className="grid gap-4">
        <KeyFields
          values={values}
          errors={errors}
          apiKey={apiKey}
          ip={ip}
          focus={focus}
          onChange={change}
          onFieldBlur={(field) => setErrors((before) => revalidateField(before, field, values))}
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
  onCreated: (made: CreatedKey) => void
}

/** Prefills the form when it was opened to raise the limit or to extend the key. */
function openingValues(apiKey: ApiKey | null, focus: 'limit' | 'expires' | undefined): KeyFormValues {
  const values = initialValues(apiKey)
  return focus === 'expires' ? { ...values, expires: '30' } : values
}

/** Takes the error of a changed field away as soon as it is right: if it went only on blur, the form would move under a click. */
function withoutMended(before: KeyErrors, part: Partial<KeyFormValues>, values: KeyFormValues): KeyErrors {
  const now = validateKey(values)
  return Object.fromEntries(Object.entries(before).filter(([field]) => !(field in part) || field in now))
}

/** Validates the field that lost focus and keeps the errors of the others. */
function revalidateField(before: KeyErrors, field: keyof KeyFormValues, values: KeyFormValues): KeyErrors {
  const { [field]: _old, ...rest } = before
  const now = validateKey(values)[field]
  return now === undefined ? rest : { ...rest, [field]: now }
}

/** Shows the server's errors at the fields that they name. */
function fieldErrors(failure: ApiFailure): KeyErrors {
  const places: Readonly<Record<string, keyof KeyFormValues>> = {
    ...Object.fromEntries(TYPED_NAMES.map((field) => [field, field])),
    name: 'name',
    spending_limit: 'limit',
    allowed_ips: 'ips',
    expires_at: 'expiresDate',
    budgets: 'budgets',
    scope_budget: 'scopeBudget',
    allowed_endpoints: 'endpoints',
  }
  const errors: KeyErrors = {}
  for (const { param, rule } of failure.fields) {
    const field = places[param]
    if (field) errors[field] = TEXT.refused(settingName(param), rule)
  }
  return errors
}
