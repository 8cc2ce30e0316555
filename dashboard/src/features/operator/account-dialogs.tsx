import { useState } from 'react'
import { randomId } from '../../api/client/random-id.ts'
import { type AccountLine, grant, type RateLimits, setLimits, setMaxKeys } from '../../api/operator.ts'
import { OPERATOR_TEXT as TEXT } from '../../messages/operator.ts'
import { Choice, Choices, Field } from '../../ui/field.tsx'
import { ActionForm, fieldText, isUsd, useOperatorAction } from './action-form.tsx'
import { RateLimitFields, readRateLimits } from './rate-limit-fields.tsx'

type DialogProps = { account: AccountLine; onClose: () => void }

/** The dialogs of the operator's actions on an account. */
export function AccountDialog({ what, ...rest }: DialogProps & { what: 'grant' | 'limits' | 'max-keys' }) {
  if (what === 'max-keys') return <MaxKeysDialog {...rest} />
  return what === 'grant' ? <GrantDialog {...rest} /> : <LimitsDialog {...rest} />
}

function GrantDialog({ account, onClose }: DialogProps) {
  // One reference per dialog, so that a double click or a retry after a lost response books it once.
  const [reference] = useState(randomId)
  const action = useOperatorAction(
    (values: { usd: string; note: string }) => grant(account.id, { ...values, reference }),
    ({ usd }) => TEXT.granted(usd),
    onClose,
  )
  return (
    <ActionForm
      title={TEXT.grant}
      action={action}
      onClose={onClose}
      read={(form) => {
        const [usd, note] = [fieldText(form, 'usd'), fieldText(form, 'note')]
        const wrong = {
          ...(!isUsd(usd) || Number(usd) === 0 ? { usd: TEXT.amountWrong } : {}),
          ...(note === '' && { note: TEXT.noteNeeded }),
        }
        return Object.keys(wrong).length > 0 ? { wrong } : { values: { usd, note } }
      }}
    >
      {(errors) => (
        <>
          <p className="text-muted wrap-anywhere">{TEXT.grantText(account.email ?? account.id)}</p>
          <Field label={TEXT.amount} hint={TEXT.amountHint} error={errors['usd']}>
            {(control) => <input {...control} name="usd" inputMode="decimal" required />}
          </Field>
          <Field label={TEXT.note} hint={TEXT.noteHint} error={errors['note']}>
            {(control) => <input {...control} name="note" defaultValue={TEXT.noteDefault} maxLength={200} required />}
          </Field>
        </>
      )}
    </ActionForm>
  )
}

function LimitsDialog({ account, onClose }: DialogProps) {
  const [custom, setCustom] = useState(true)
  const action = useOperatorAction(
    (limits: RateLimits | null) => setLimits(account.id, limits),
    TEXT.limitsSet,
    onClose,
  )
  return (
    <ActionForm
      title={TEXT.limits}
      action={action}
      onClose={onClose}
      read={(form) => (custom ? readRateLimits(form) : { values: null })}
    >
      {(errors) => (
        <>
          <Choices legend={TEXT.limitsText(account.email ?? account.id)}>
            <Choice
              name="how"
              value="custom"
              checked={custom}
              onChange={() => setCustom(true)}
              label={TEXT.ownLimits}
            />
            <Choice
              name="how"
              value="tier"
              checked={!custom}
              onChange={() => setCustom(false)}
              label={TEXT.tierLimits}
            />
          </Choices>
          {custom && <RateLimitFields values={account.limits} errors={errors} />}
        </>
      )}
    </ActionForm>
  )
}

function MaxKeysDialog({ account, onClose }: DialogProps) {
  const action = useOperatorAction((keys: number | null) => setMaxKeys(account.id, keys), TEXT.maxKeysSet, onClose)
  return (
    <ActionForm
      title={TEXT.maxKeys}
      action={action}
      onClose={onClose}
      read={(form) => {
        const text = fieldText(form, 'keys')
        const isCount = /^[1-9]\d{0,8}$/.test(text)
        return isCount || text === '' ? { values: isCount ? Number(text) : null } : { wrong: { keys: TEXT.countWrong } }
      }}
    >
      {(errors) => (
        <Field label={TEXT.maxKeys} hint={TEXT.maxKeysHint} error={errors['keys']}>
          {(control) => <input {...control} name="keys" inputMode="numeric" defaultValue={account.most_keys} />}
        </Field>
      )}
    </ActionForm>
  )
}
