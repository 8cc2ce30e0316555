import { useState } from 'react'
import { addVendor, type NewVendor, setVendorKey } from '../../../api/models.ts'
import { MODEL_TEXT as TEXT } from '../../../messages/models.ts'
import { Field, PasswordField, Select } from '../../../ui/field.tsx'
import { ActionForm, fieldText, useOperatorAction } from '../action-form.tsx'

interface Preset {
  readonly kind: NewVendor['kind']
  readonly url: string
}

const PRESETS: Readonly<Record<keyof typeof TEXT.presets, Preset>> = {
  openai: { kind: 'openai', url: 'https://api.openai.com/v1' },
  anthropic: { kind: 'anthropic', url: 'https://api.anthropic.com/v1' },
  gemini: { kind: 'gemini', url: 'https://generativelanguage.googleapis.com/v1beta' },
  openrouter: { kind: 'openai', url: 'https://openrouter.ai/api/v1' },
  azure: { kind: 'openai', url: 'https://RESOURCE.openai.azure.com/openai/v1' },
  ollama: { kind: 'openai', url: 'http://127.0.0.1:11434/v1' },
  vllm: { kind: 'openai', url: 'http://127.0.0.1:8000/v1' },
  other: { kind: 'openai', url: '' },
}
const NAMES = Object.keys(PRESETS) as (keyof typeof PRESETS)[]

/** A server of models and the key there. */
export function AddVendorDialog({ onClose, onAdded }: { onClose: () => void; onAdded: (name: string) => void }) {
  const [preset, setPreset] = useState<keyof typeof PRESETS>('openai')
  const { kind, url } = PRESETS[preset]
  const action = useOperatorAction(
    addVendor,
    ({ name }: NewVendor) => TEXT.vendorAdded(name),
    ({ name }) => onAdded(name),
  )
  return (
    <ActionForm
      title={TEXT.addVendor}
      action={action}
      onClose={onClose}
      read={(form) => {
        const [name, base_url, key] = [fieldText(form, 'name'), fieldText(form, 'base_url'), fieldText(form, 'key')]
        const wrong = {
          ...(!/^[a-z0-9][a-z0-9-]{0,39}$/.test(name) && { name: TEXT.nameWrong }),
          ...((!URL.canParse(base_url) || base_url.includes('RESOURCE')) && { base_url: TEXT.baseUrlWrong }),
        }
        return Object.keys(wrong).length > 0
          ? { wrong }
          : { values: { name, kind, base_url, ...(key !== '' && { key }) } }
      }}
    >
      {(errors) => (
        <>
          <p className="text-muted">{TEXT.addVendorText}</p>
          <Field label={TEXT.vendor}>
            {(control) => (
              <Select
                {...control}
                value={preset}
                options={NAMES.map((value) => ({ value, text: TEXT.presets[value] }))}
                onChange={({ target }) => setPreset(NAMES.find((name) => name === target.value) ?? 'other')}
              />
            )}
          </Field>
          <Field key={`${preset} name`} label={TEXT.name} hint={TEXT.nameHint} error={errors['name']}>
            {(control) => (
              <input
                {...control}
                name="name"
                autoComplete="off"
                spellCheck={false}
                defaultValue={preset === 'other' ? '' : preset}
              />
            )}
          </Field>
          <Field key={`${preset} url`} label={TEXT.baseUrl} hint={TEXT.baseUrlHint} error={errors['base_url']}>
            {(control) => (
              <input
                {...control}
                name="base_url"
                inputMode="url"
                autoComplete="off"
                spellCheck={false}
                defaultValue={url}
              />
            )}
          </Field>
          <KeyField error={undefined} hint={TEXT.keyHint} />
        </>
      )}
    </ActionForm>
  )
}

/** Replaces the key at a vendor. */
export function VendorKeyDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const action = useOperatorAction((key: string) => setVendorKey(name, key), TEXT.keySet, onClose)
  return (
    <ActionForm
      title={TEXT.setKey}
      action={action}
      onClose={onClose}
      read={(form) => {
        const key = fieldText(form, 'key')
        return key === '' ? { wrong: { key: TEXT.keyNeeded } } : { values: key }
      }}
    >
      {(errors) => <KeyField error={errors['key']} />}
    </ActionForm>
  )
}

function KeyField({ error, hint }: { error: string | undefined; hint?: string }) {
  return (
    <PasswordField
      label={TEXT.key}
      hint={hint}
      error={error}
      showLabel={TEXT.showKey}
      name="key"
      autoComplete="off"
      spellCheck={false}
    />
  )
}
