import type { FormEvent, KeyboardEvent, ReactNode } from 'react'
import type { OfferedModel } from '../../api/playground/models.ts'
import { CHAT_TEXT as TEXT } from '../../messages/chat.ts'
import { Button } from '../../ui/button.tsx'
import { Choice, Field } from '../../ui/field.tsx'
import { Card } from '../../ui/layout/card.tsx'
import { type ChatSettings, maxTokensLabel, maxTokensProblem, temperatureProblem } from './chat-settings.ts'

/** The form of a message. Ctrl+Enter or Cmd+Enter sends it; while a response arrives, the button stops it. */
export function ChatForm(props: ChatFormProps) {
  const { model, settings, draft, shown, ready, busy, onSettings } = props
  const submit = (event: FormEvent) => {
    event.preventDefault()
    props.onSend()
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) props.onSend()
  }
  return (
    <Card title={TEXT.chat}>
      <form noValidate onSubmit={submit} onKeyDown={onKey} className="grid gap-4">
        {props.choice}
        <Field label={TEXT.system}>
          {(control) => (
            <textarea
              {...control}
              rows={2}
              className={`${control.className} py-2`}
              value={settings.system}
              onChange={(event) => onSettings({ ...settings, system: event.target.value })}
            />
          )}
        </Field>
        <Settings model={model} settings={settings} onSettings={onSettings} />
        {props.payerField}
        <Field
          label={TEXT.message}
          hint={TEXT.messageHint}
          error={shown && draft.trim() === '' ? TEXT.messageNeeded : undefined}
        >
          {(control) => (
            <textarea
              {...control}
              rows={4}
              className={`${control.className} py-2`}
              value={draft}
              onChange={(event) => props.onDraft(event.target.value)}
            />
          )}
        </Field>
        {busy ? (
          <>
            <Button onClick={props.onStop}>{TEXT.stop}</Button>
            <p className="text-muted text-sm">{TEXT.stopHint}</p>
          </>
        ) : (
          <Button type="submit" tone="primary" busy={!ready}>
            {props.sendWords}
          </Button>
        )}
      </form>
    </Card>
  )
}

type ChatFormProps = {
  model: OfferedModel
  settings: ChatSettings
  draft: string
  /** Whether to show the errors of missing fields. */
  shown: boolean
  /** Whether it is known who pays. */
  ready: boolean
  busy: boolean
  sendWords: string
  /** The choice of the model and of the payer. */
  choice: ReactNode
  payerField: ReactNode
  onSettings: (settings: ChatSettings) => void
  onDraft: (text: string) => void
  onSend: () => void
  onStop: () => void
}

function Settings({ model, settings, onSettings }: Pick<ChatFormProps, 'model' | 'settings' | 'onSettings'>) {
  const { temperature, maxTokens, stream } = settings
  return (
    <fieldset className="grid gap-4 sm:grid-cols-2">
      <legend className="sr-only">{TEXT.settings}</legend>
      <Field label={TEXT.temperature} hint={TEXT.temperatureHint} error={temperatureProblem(temperature) ?? undefined}>
        {(control) => (
          <input
            {...control}
            inputMode="decimal"
            autoComplete="off"
            value={temperature}
            onChange={(event) => onSettings({ ...settings, temperature: event.target.value })}
          />
        )}
      </Field>
      <Field
        label={TEXT.maxTokens}
        hint={TEXT.maxTokensHint(maxTokensLabel(model))}
        error={maxTokensProblem(maxTokens, model) ?? undefined}
      >
        {(control) => (
          <input
            {...control}
            inputMode="numeric"
            autoComplete="off"
            value={maxTokens}
            onChange={(event) => onSettings({ ...settings, maxTokens: event.target.value })}
          />
        )}
      </Field>
      <Choice
        type="checkbox"
        label={TEXT.stream}
        checked={stream}
        onChange={() => onSettings({ ...settings, stream: !stream })}
      />
    </fieldset>
  )
}
