import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { ApiDetails } from '../../../api/apis.ts'
import { failureFrom } from '../../../api/client/failure.ts'
import { IMPORT_TEXT as TEXT } from '../../../messages/import-api.ts'
import { Button } from '../../../ui/button.tsx'
import { FormFailure } from '../../../ui/feedback/failure.tsx'
import { lazyPart } from '../../../ui/feedback/lazy-part.tsx'
import { Loading } from '../../../ui/feedback/states.tsx'
import { Field } from '../../../ui/field.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { AuthFields } from './auth-fields.tsx'
import { DocumentFields } from './document-fields.tsx'
import { type ImportErrors, type ImportValues, importValues, remainingErrors } from './import-values.ts'
import { PriceFields } from './price-fields.tsx'
import { useCheck } from './use-import.ts'

/** The second step, loaded while the first is filled in. */
const ImportReview = lazyPart(() => import('./import-review.tsx').then(({ ImportReview }) => ImportReview), {
  fallback: () => <Loading rows={6} />,
})

/** Imports an OpenAPI document in two steps: the document with its upstream and price, then what would be sold. */
export function ImportForm({ existing, onDone }: ImportFormProps) {
  const [values, setValues] = useState(() => importValues(existing))
  const { checking, errors: found, checked } = useCheck(existing, setValues)
  const errors = remainingErrors(found, values)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => void ImportReview.preload(), [])
  const change = (part: Partial<ImportValues>) => setValues((before) => ({ ...before, ...part }))
  if (checked)
    return <ImportReview checked={checked} existing={existing} onBack={() => checking.reset()} onDone={onDone} />
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (checking.isPending) return
    checking.mutate(values, { onSuccess: () => requestAnimationFrame(() => focusFirstError(form.current)) })
  }
  return (
    <form ref={form} noValidate onSubmit={submit} className="grid min-w-0 gap-6">
      <Card title={TEXT.document}>
        <DocumentFields values={values} errors={errors} onChange={change} />
      </Card>
      <UpstreamFields values={values} errors={errors} existing={existing} onChange={change} />
      <Card title={TEXT.defaultPrice}>
        <PriceFields
          values={values.price}
          errors={errors.price ?? {}}
          hint={TEXT.defaultPriceHint}
          onChange={(part) => setValues((before) => ({ ...before, price: { ...before.price, ...part } }))}
        />
      </Card>
      <FormFailure failure={failureFrom(checking)} />
      <div>
        <Button type="submit" tone="primary" busy={checking.isPending}>
          {checking.isPending ? TEXT.checking : TEXT.check}
        </Button>
      </div>
    </form>
  )
}

type ImportFormProps = {
  /** The API to bring up to date; null for a new one. */
  existing: ApiDetails | null
  onDone: (name: string) => void
}

function focusFirstError(form: HTMLFormElement | null): void {
  form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
}

function UpstreamFields({ values, errors, existing, onChange }: UpstreamFieldsProps) {
  return (
    <Card title={TEXT.api}>
      <div className="grid gap-4 sm:grid-cols-2">
        {!existing && (
          <Field label={TEXT.name} hint={TEXT.nameHint} error={errors.name}>
            {(control) => (
              <input
                {...control}
                name="name"
                autoComplete="off"
                spellCheck={false}
                value={values.name}
                onChange={({ target }) => onChange({ name: target.value })}
              />
            )}
          </Field>
        )}
        <Field label={TEXT.baseUrl} hint={TEXT.baseUrlHint} error={errors.baseUrl}>
          {(control) => (
            <input
              {...control}
              name="baseUrl"
              inputMode="url"
              autoComplete="off"
              spellCheck={false}
              value={values.baseUrl}
              onChange={({ target }) => onChange({ baseUrl: target.value })}
            />
          )}
        </Field>
      </div>
      <AuthFields
        values={values.auth}
        errors={errors.auth ?? {}}
        current={existing?.auth ?? null}
        onChange={(part) => onChange({ auth: { ...values.auth, ...part } })}
      />
    </Card>
  )
}

type UpstreamFieldsProps = {
  values: ImportValues
  errors: ImportErrors
  existing: ApiDetails | null
  onChange: (part: Partial<ImportValues>) => void
}
