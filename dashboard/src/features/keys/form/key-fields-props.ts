import type { ApiKey } from '../../../api/keys.ts'
import type { KeyErrors, KeyFormValues } from './key-form-values.ts'

/** What every part of a key's form is given. */
export interface KeyFieldsProps {
  values: KeyFormValues
  errors: KeyErrors
  apiKey: ApiKey | null
  /** The address that this computer calls from. */
  ip: string | null
  focus?: 'limit' | 'expires' | undefined
  onChange: (part: Partial<KeyFormValues>) => void
  onFieldBlur: (field: keyof KeyFormValues) => void
}
