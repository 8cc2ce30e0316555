import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { type AlertSetting, changeSettings, settingsQuery } from '../../api/account/settings.ts'
import { toApiFailure } from '../../api/client/failure.ts'
import { keyNamesQuery } from '../../api/keys.ts'
import { useKeyLabels } from '../../api/usage.ts'
import { NOTICE_TEXT } from '../../messages/notices.ts'
import { USAGE_TEXT } from '../../messages/usage.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { toast } from '../../ui/feedback/toast.ts'
import { Field, Select } from '../../ui/field.tsx'
import { costUsd, MICROS_PER_USD } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'

const { alerts: TEXT } = NOTICE_TEXT
const KINDS = ['spend_day', 'balance', 'failures_hour'] as const

/** What the owner wants to hear of: the list, and a form for one more. */
export function AlertsCard() {
  const settings = useQuery(settingsQuery).data
  const queries = useQueryClient()
  const label = useKeyLabels()
  const saving = useMutation({
    mutationFn: (alerts: readonly AlertSetting[]) => changeSettings({ alerts: [...alerts] }),
    onError: (error) => void toast(toApiFailure(error).message, { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: settingsQuery.queryKey }),
  })
  if (!settings) return null
  const { alerts } = settings
  return (
    <Card title={TEXT.title}>
      <p className="small text-muted">{TEXT.lead(settings.sends_mail)}</p>
      {alerts.length === 0 && <p className="text-muted">{TEXT.none}</p>}
      <ul className="grid gap-1">
        {alerts.map((alert, at) => {
          const words = alertWords(alert, label)
          return (
            <li key={words} className="flex items-center justify-between gap-3">
              <span className="wrap-anywhere">{words}</span>
              <IconButton
                label={TEXT.remove(words)}
                onClick={() => saving.mutate(alerts.filter((_, other) => other !== at))}
              >
                <X size={16} aria-hidden />
              </IconButton>
            </li>
          )
        })}
      </ul>
      <NewAlert busy={saving.isPending} onAdd={(alert) => saving.mutate([...alerts, alert])} />
    </Card>
  )
}

function NewAlert({ busy, onAdd }: { busy: boolean; onAdd: (alert: AlertSetting) => void }) {
  const keys = useQuery(keyNamesQuery).data?.names.filter(({ revoked }) => !revoked) ?? []
  const label = useKeyLabels()
  const [on, setOn] = useState<AlertSetting['on']>('spend_day')
  const [amount, setAmount] = useState('')
  const [key, setKey] = useState('')
  const [isWrong, setWrong] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const value = Number(amount)
    const isRight = value > 0 && (on !== 'failures_hour' || (Number.isInteger(value) && value <= 100))
    setWrong(!isRight)
    if (!isRight) return
    const of = on === 'balance' || key === '' ? null : key
    onAdd(on === 'failures_hour' ? { on, percent: value, key: of } : { on, usd: value, key: of })
    setAmount('')
  }
  return (
    <form noValidate onSubmit={submit} className="flex flex-wrap items-end gap-3">
      <Field label={TEXT.when}>
        {({ className: _look, ...control }) => (
          <Select
            {...control}
            label={TEXT.when}
            options={KINDS.map((value) => ({ value, text: TEXT.kinds[value] }))}
            value={on}
            onChange={({ target }) => setOn(KINDS.find((kind) => kind === target.value) ?? 'spend_day')}
          />
        )}
      </Field>
      <Field label={on === 'failures_hour' ? TEXT.percent : TEXT.amount} {...(isWrong && { error: TEXT.wrong })}>
        {(control) => (
          <input
            {...control}
            inputMode="decimal"
            autoComplete="off"
            className="control w-28 border border-line-strong bg-surface px-2"
            value={amount}
            onChange={({ target }) => setAmount(target.value)}
          />
        )}
      </Field>
      {on !== 'balance' && (
        <Field label={TEXT.of}>
          {({ className: _look, ...control }) => (
            <Select
              {...control}
              label={TEXT.of}
              options={[
                { value: '', text: USAGE_TEXT.allKeys },
                ...keys.map(({ id }) => ({ value: String(id), text: label(id) })),
              ]}
              value={key}
              onChange={({ target }) => setKey(target.value)}
            />
          )}
        </Field>
      )}
      <div className="pb-1">
        <Button type="submit" busy={busy}>
          {TEXT.add}
        </Button>
      </div>
    </form>
  )
}

function alertWords({ on, usd, percent, key }: AlertSetting, label: (id: string) => string): string {
  const threshold = on === 'failures_hour' ? `${percent}%` : costUsd(Math.round((usd ?? 0) * MICROS_PER_USD))
  return TEXT.words[on](threshold, key ? label(key) : USAGE_TEXT.allKeys.toLowerCase())
}
