import { useQuery } from '@tanstack/react-query'
import type { FormEvent, KeyboardEvent } from 'react'
import { type OwnPrice, pricesQuery } from '../../api/billing/billing.ts'
import type { FormFiles, FormValues, GatewayOperation } from '../../api/playground/operations.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { Button } from '../../ui/button.tsx'
import { Field } from '../../ui/field.tsx'
import { priceText } from '../../ui/format/api-price.ts'
import { costUsd } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'
import { FieldInput } from './field-input.tsx'
import { type PayerChoice, PayerField } from './payer-field.tsx'

/** The parameters of an operation, the payer, and a button that shows the price. Ctrl+Enter or Cmd+Enter sends too. */
export function TryForm(props: TryFormProps) {
  const { operation, values, body, bodyWrong, payerChoice, shown, ready, busy, waitSeconds } = props
  const price = usePrice(operation, payerChoice)
  const first = operation.fields.filter(({ required }) => required)
  const more = operation.fields.filter(({ required }) => !required)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    props.onSend()
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) props.onSend()
  }
  const input = (field: (typeof first)[number]) => (
    <FieldInput
      key={field.name}
      field={field}
      value={values[field.name]}
      files={props.files[field.name]}
      shown={shown}
      onFiles={(files) => props.onFiles({ ...props.files, [field.name]: files })}
      onChange={(value) => props.onValues({ ...values, [field.name]: value })}
    />
  )
  return (
    <Card title={operation.title}>
      <p className="text-muted">{plainWords(operation.description)}</p>
      <form noValidate onSubmit={submit} onKeyDown={onKey} className="grid gap-4">
        {first.map(input)}
        {operation.exampleBody !== null && (
          <Field label={TEXT.body} error={bodyWrong ? TEXT.bodyWrong : undefined}>
            {(control) => (
              <textarea
                {...control}
                rows={10}
                spellCheck={false}
                className={`${control.className} code py-2`}
                value={body}
                onChange={(event) => props.onBody(event.target.value)}
              />
            )}
          </Field>
        )}
        {more.length > 0 && (
          <details>
            <summary className="min-h-9 content-center font-medium">{TEXT.more(more.length)}</summary>
            <div className="grid gap-4 pt-3">{more.map(input)}</div>
          </details>
        )}
        <PayerField payerChoice={payerChoice} shown={shown} onChange={props.onPayerChoice} />
        <Button type="submit" tone="primary" busy={!ready || busy || waitSeconds > 0}>
          {busy ? TEXT.sending : waitSeconds > 0 ? TEXT.wait(waitSeconds) : TEXT.send(price.words)}
        </Button>
        {price.notes.map((note) => (
          <p key={note} className="small text-muted">
            {note}
          </p>
        ))}
      </form>
    </Card>
  )
}

/** Removes the Markdown of the descriptions, which would otherwise be read out. */
function plainWords(markdown: string): string {
  return markdown.replaceAll('`', '')
}

type TryFormProps = {
  operation: GatewayOperation
  values: FormValues
  files: FormFiles
  body: string
  bodyWrong: boolean
  payerChoice: PayerChoice
  /** Whether to show the errors of missing fields. */
  shown: boolean
  /** Whether it is known who pays. */
  ready: boolean
  busy: boolean
  waitSeconds: number
  onValues: (values: FormValues) => void
  onFiles: (files: FormFiles) => void
  onBody: (body: string) => void
  onPayerChoice: (payerChoice: PayerChoice) => void
  onSend: () => void
}

/** The price of the request for this account. Null if it is free or not charged per unit. */
function usePrice(
  { name, apiPrice }: GatewayOperation,
  { kind }: PayerChoice,
): { words: string | null; notes: string[] } {
  const prices = useQuery(pricesQuery).data ?? []
  const of = (wanted: string | null) => prices.find(({ operation }) => operation === wanted)
  const price = of(name)
  if (kind !== 'nobody' && apiPrice) return { words: priceText(apiPrice), notes: [] }
  if (kind === 'nobody' || !price) return { words: null, notes: [] }
  const withAddress = of(`${name}-with-address`)
  const notes = [
    ...(withAddress ? [TEXT.withAddress(costUsd(withAddress.amount_micros_usd))] : []),
    ...(price.amount_micros_usd === price.catalogue_micros_usd
      ? []
      : [TEXT.ownPrice(costUsd(price.catalogue_micros_usd))]),
  ]
  return { words: priceLabel(price), notes }
}

function priceLabel({ amount_micros_usd: amount, unit }: OwnPrice): string {
  return unit === 'request' ? costUsd(amount) : TEXT.perUnit(costUsd(amount), unit)
}
