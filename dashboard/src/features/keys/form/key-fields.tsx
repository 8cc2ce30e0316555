import { excludesAddress } from '../../../api/own-address.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { Button } from '../../../ui/button.tsx'
import { Choice, Choices, Field, Select } from '../../../ui/field.tsx'
import { costUsd, parseMicros } from '../../../ui/format/money.ts'
import { formatDay } from '../../../ui/format/time.tsx'
import { AdvancedFields } from './advanced-fields.tsx'
import type { KeyFieldsProps } from './key-fields-props.ts'
import { parseIps } from './key-form-values.ts'
import { TypedFields } from './typed-fields.tsx'

/** The fields of a key's form. */
export function KeyFields(props: KeyFieldsProps) {
  const { values, errors, onChange, onFieldBlur } = props
  return (
    <>
      <Field label={TEXT.name} hint={TEXT.nameHint} error={errors.name}>
        {(control) => (
          <input
            {...control}
            name="name"
            autoComplete="off"
            value={values.name}
            onChange={(event) => onChange({ name: event.target.value })}
            onBlur={() => values.name !== '' && onFieldBlur('name')}
          />
        )}
      </Field>
      <LimitFields {...props} />
      <IpField {...props} />
      <ExpiryFields {...props} />
      <TypedFields {...props} section="first" />
      <AdvancedFields {...props} />
    </>
  )
}

function LimitFields({ values, errors, apiKey, focus, onChange, onFieldBlur }: KeyFieldsProps) {
  const amount = values.limited ? parseMicros(values.limit) : null
  const spent = apiKey?.spent_micros_usd ?? 0
  const below = apiKey !== null && amount !== null && amount <= spent && spent > 0
  return (
    <Choices legend={TEXT.limit} hint={TEXT.limitHint}>
      <Choice
        name="limited"
        label={TEXT.limitNone}
        checked={!values.limited}
        onChange={() => onChange({ limited: false })}
      />
      <Choice
        name="limited"
        label={TEXT.limitStop}
        checked={values.limited}
        onChange={() => onChange({ limited: true })}
      />
      {values.limited && (
        <Field label={TEXT.limitAmount} error={errors.limit}>
          {(control) => (
            <input
              {...control}
              name="limit"
              inputMode="decimal"
              // biome-ignore lint/a11y/noAutofocus: the dialog was opened to change this very field.
              autoFocus={focus === 'limit'}
              value={values.limit}
              onChange={(event) => onChange({ limit: event.target.value })}
              onBlur={() => values.limit !== '' && onFieldBlur('limit')}
            />
          )}
        </Field>
      )}
      {below && (
        <p role="status" className="small text-warn">
          {TEXT.limitBelow(costUsd(spent))}
        </p>
      )}
    </Choices>
  )
}

function IpField({ values, errors, ip, onChange, onFieldBlur }: KeyFieldsProps) {
  const entries = parseIps(values.ips)
  return (
    <div className="grid gap-2">
      <Field label={TEXT.ips} hint={TEXT.ipsHint} error={errors.ips}>
        {(control) => (
          <textarea
            {...control}
            name="ips"
            rows={2}
            spellCheck={false}
            className={`${control.className} code py-2`}
            value={values.ips}
            onChange={(event) => onChange({ ips: event.target.value })}
            onBlur={() => onFieldBlur('ips')}
          />
        )}
      </Field>
      {excludesAddress(entries, ip) && (
        <p role="status" className="small text-warn">
          {TEXT.mineMissing}
        </p>
      )}
      {ip !== null && !entries.includes(ip) && (
        <div>
          <Button onClick={() => onChange({ ips: [...entries, ip].join('\n') })}>{TEXT.addMine(ip)}</Button>
        </div>
      )}
    </div>
  )
}

function ExpiryFields({ values, errors, apiKey, focus, onChange, onFieldBlur }: KeyFieldsProps) {
  const at = apiKey?.expires_at ?? null
  const options = [
    ...(at === null ? [] : [{ value: 'keep', text: TEXT.expiresKeep(formatDay(at)) }]),
    { value: '', text: TEXT.expiresNever },
    { value: '30', text: TEXT.expiresIn(30) },
    { value: '90', text: TEXT.expiresIn(90) },
    { value: 'date', text: TEXT.expiresOn },
  ]
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label={TEXT.expires}>
        {({ className: _look, ...control }) => (
          <Select
            {...control}
            autoFocus={focus === 'expires'}
            name="expires"
            options={options}
            value={values.expires}
            onChange={(event) => onChange({ expires: event.target.value })}
          />
        )}
      </Field>
      {values.expires === 'date' && (
        <Field label={TEXT.expiresDate} error={errors.expiresDate}>
          {(control) => (
            <input
              {...control}
              name="expiresDate"
              type="date"
              value={values.expiresDate}
              onChange={(event) => onChange({ expiresDate: event.target.value })}
              onBlur={() => onFieldBlur('expiresDate')}
            />
          )}
        </Field>
      )}
    </div>
  )
}
