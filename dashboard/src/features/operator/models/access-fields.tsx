import { useState } from 'react'
import { TIERS } from '../../../../../server/core/limits/tier.ts'
import type { NewSoldModel } from '../../../api/models.ts'
import { MODEL_TEXT as TEXT } from '../../../messages/models.ts'
import { SHELL_TEXT } from '../../../messages/shell.ts'
import { Choice, Choices, Field } from '../../../ui/field.tsx'
import { fieldText } from '../action-form.tsx'

type Access = Exclude<NewSoldModel['access'], undefined>

/** Who may call a model: everyone, or some tiers and accounts. `readAccess` reads it. */
export function AccessFields({ access = null }: { access?: Access }) {
  const [isLimited, setLimited] = useState(access !== null)
  return (
    <>
      <Choices legend={TEXT.access}>
        <Choice name="who" value="all" checked={!isLimited} onChange={() => setLimited(false)} label={TEXT.everyone} />
        <Choice
          name="who"
          value="some"
          checked={isLimited}
          onChange={() => setLimited(true)}
          label={TEXT.someAccounts}
        />
      </Choices>
      {isLimited && (
        <>
          <Choices legend={TEXT.tiers} hint={TEXT.accessHint}>
            {TIERS.map((tier) => (
              <Choice
                key={tier}
                type="checkbox"
                name="tiers"
                value={tier}
                defaultChecked={access?.tiers.includes(tier) ?? false}
                label={SHELL_TEXT.tiers[tier]}
              />
            ))}
          </Choices>
          <Field label={TEXT.accounts} hint={TEXT.accountsHint}>
            {(control) => (
              <textarea
                {...control}
                name="accounts"
                rows={2}
                spellCheck={false}
                defaultValue={access?.accounts.join('\n') ?? ''}
              />
            )}
          </Field>
        </>
      )}
    </>
  )
}

/** Null: everyone. */
export function readAccess(form: FormData): Access {
  if (form.get('who') !== 'some') return null
  const ticked = form.getAll('tiers')
  return {
    tiers: TIERS.filter((tier) => ticked.includes(tier)),
    accounts: fieldText(form, 'accounts')
      .split(/[\s,]+/)
      .filter((name) => name !== ''),
  }
}
