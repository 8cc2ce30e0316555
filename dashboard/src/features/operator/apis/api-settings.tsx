import { useState } from 'react'
import { type ApiChange, type ApiDetails, changeApi } from '../../../api/apis.ts'
import { API_TEXT as TEXT } from '../../../messages/apis.ts'
import { Button } from '../../../ui/button.tsx'
import { toast } from '../../../ui/feedback/toast.ts'
import { Field } from '../../../ui/field.tsx'
import { grouped } from '../../../ui/format/money.ts'
import { TimeAgo } from '../../../ui/format/time.tsx'
import { Card } from '../../../ui/layout/card.tsx'
import { FactList } from '../../../ui/layout/fact-list.tsx'
import { ActionForm, type FormResult, fieldText, useOperatorAction } from '../action-form.tsx'
import { AuthFields } from './auth-fields.tsx'
import { type AuthValues, authValues, toAuth, validateAuth } from './auth-values.ts'
import { isHttpUrl } from './import-values.ts'

const NAMES = TEXT.settingNames

/** Where an API is and how it is called. Secrets are never shown. */
export function ApiSettings({ api }: { api: ApiDetails }) {
  const [editing, setEditing] = useState(false)
  const rows = [
    [
      NAMES.base_url,
      <span key="url" className="code wrap-anywhere">
        {api.base_url}
      </span>,
    ],
    [
      NAMES.auth,
      <span key="auth" className="code wrap-anywhere">
        {api.auth}
      </span>,
    ],
    [NAMES.timeout, TEXT.milliseconds(api.timeout_ms)],
    [NAMES.concurrency, grouped(api.concurrency)],
    [NAMES.cache, TEXT.cacheFor(api.cache_seconds)],
    [NAMES.updated, <TimeAgo key="at" at={api.updated_at} />],
  ] as const
  return (
    <Card title={TEXT.settings} aside={<Button onClick={() => setEditing(true)}>{TEXT.edit}</Button>}>
      <FactList facts={rows} />
      {editing && <SettingsDialog api={api} onClose={() => setEditing(false)} />}
    </Card>
  )
}

const NUMBERS = [
  { name: 'timeout_ms', label: TEXT.timeoutField, hint: '', min: 0.1, max: 600, scale: 1000 },
  { name: 'concurrency', label: TEXT.concurrencyField, hint: TEXT.concurrencyHint, min: 1, max: 10_000, scale: 1 },
  { name: 'cache_seconds', label: TEXT.cacheField, hint: TEXT.cacheHint, min: 0, max: 86_400, scale: 1 },
] as const

function SettingsDialog({ api, onClose }: { api: ApiDetails; onClose: () => void }) {
  const [auth, setAuth] = useState<AuthValues>(() => authValues('keep'))
  const action = useOperatorAction((change: ApiChange) => saved(api.name, change), TEXT.saved, onClose)
  return (
    <ActionForm title={TEXT.edit} action={action} onClose={onClose} read={(form) => readSettings(form, auth)}>
      {(errors) => (
        <>
          <Field label={TEXT.titleField} error={errors['title']}>
            {(control) => <input {...control} name="title" defaultValue={api.title} maxLength={100} />}
          </Field>
          <Field label={TEXT.description}>
            {(control) => (
              <textarea
                {...control}
                name="description"
                rows={3}
                maxLength={1000}
                className={`${control.className} py-2`}
                defaultValue={api.description}
              />
            )}
          </Field>
          <Field label={NAMES.base_url} hint={TEXT.authMoves} error={errors['base_url']}>
            {(control) => <input {...control} name="base_url" inputMode="url" defaultValue={api.base_url} />}
          </Field>
          <AuthFields
            values={auth}
            errors={errors}
            current={api.auth}
            onChange={(part) => setAuth((before) => ({ ...before, ...part }))}
          />
          {NUMBERS.map(({ name, label, hint, scale }) => (
            <Field key={name} label={label} hint={hint} error={errors[name]}>
              {(control) => (
                <input {...control} name={name} inputMode="decimal" defaultValue={String(api[name] / scale)} />
              )}
            </Field>
          ))}
        </>
      )}
    </ActionForm>
  )
}

/** Saves, and shows what the operator should know, such as that a secret was dropped. */
async function saved(name: string, change: ApiChange): Promise<void> {
  const { notices } = await changeApi(name, change)
  for (const notice of notices) void toast(notice, { bad: true })
}

function readSettings(form: FormData, auth: AuthValues): FormResult<ApiChange> {
  const wrong: Record<string, string> = { ...validateAuth(auth) }
  const baseUrl = fieldText(form, 'base_url')
  if (!isHttpUrl(baseUrl)) wrong['base_url'] = TEXT.urlWrong
  const title = fieldText(form, 'title')
  if (title === '') wrong['title'] = TEXT.titleNeeded
  const numbers = NUMBERS.map(({ name, min, max, scale }) => {
    const value = Number(fieldText(form, name) || Number.NaN)
    if (!(value >= min && value <= max)) wrong[name] = TEXT.numberWrong(String(min), grouped(max))
    return [name, Math.round(value * scale)]
  })
  if (Object.keys(wrong).length > 0) return { wrong }
  const sent = toAuth(auth)
  return {
    values: {
      title,
      description: fieldText(form, 'description'),
      base_url: baseUrl.replace(/\/$/, ''),
      ...(sent !== undefined && { auth: sent }),
      ...Object.fromEntries(numbers),
    },
  }
}
