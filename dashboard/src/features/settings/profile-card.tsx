import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { changeSettings, settingsQuery } from '../../api/account/settings.ts'
import { failureFrom, toApiFailure } from '../../api/client/failure.ts'
import { SETTINGS_TEXT as TEXT } from '../../messages/settings.ts'
import { Button } from '../../ui/button.tsx'
import { WorkspaceId } from '../../ui/code/workspace-id.tsx'
import { Failed, FormFailure } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Field, Select } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'

const BROWSER_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const ZONES = Intl.supportedValuesOf('timeZone')

/** Name, time zone and workspace ID. */
export function ProfileCard() {
  const settings = useQuery(settingsQuery)
  return (
    <Card title={TEXT.profile} flush={settings.data === undefined}>
      {settings.data ? (
        <ProfileForm key={settings.data.workspace_id} {...settings.data} />
      ) : settings.error ? (
        <Failed failure={toApiFailure(settings.error)} onRetry={() => void settings.refetch()} />
      ) : (
        <Loading />
      )}
    </Card>
  )
}

function ProfileForm({ name, timezone, workspace_id: workspace }: ProfileProps) {
  const queries = useQueryClient()
  const [error, setError] = useState<string>()
  const saving = useMutation({
    mutationFn: changeSettings,
    onSuccess: async (saved) => {
      queries.setQueryData(settingsQuery.queryKey, saved)
      void toast(TEXT.saved)
      await queries.invalidateQueries({ queryKey: ['account'] })
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const typed = String(form.get('name') ?? '').trim()
    const zone = String(form.get('timezone') ?? '')
    setError(typed === '' ? TEXT.nameNeeded : undefined)
    if (typed === '') return event.currentTarget.querySelector<HTMLInputElement>('[name=name]')?.focus()
    if (!saving.isPending) saving.mutate({ name: typed, timezone: zone === '' ? null : zone })
  }
  const known = timezone !== null && !ZONES.includes(timezone) ? [timezone, ...ZONES] : ZONES
  return (
    <form noValidate onSubmit={submit} className="grid max-w-lg gap-4">
      <Field label={TEXT.name} error={error}>
        {(control) => (
          <input {...control} name="name" defaultValue={name} autoComplete="name" maxLength={200} required />
        )}
      </Field>
      <Field label={TEXT.timezone} hint={TEXT.timezoneHint}>
        {(control) => (
          <Select
            {...control}
            name="timezone"
            defaultValue={timezone ?? ''}
            options={[
              { value: '', text: TEXT.browserZone(BROWSER_ZONE) },
              ...known.map((zone) => ({ value: zone, text: zone.replaceAll('_', ' ') })),
            ]}
          />
        )}
      </Field>
      <WorkspaceId id={workspace} />
      <FormFailure failure={failureFrom(saving)} />
      <Button type="submit" tone="primary" busy={saving.isPending} className="justify-self-start">
        {TEXT.save}
      </Button>
    </form>
  )
}

type ProfileProps = { name: string; timezone: string | null; workspace_id: string }
