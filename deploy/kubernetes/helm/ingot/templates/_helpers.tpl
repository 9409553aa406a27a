{{- define "ingot.name" -}}
{{- $own := ternary .Release.Name (printf "%s-ingot" .Release.Name) (contains "ingot" .Release.Name) -}}
{{- $own | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "ingot.selector" -}}
app.kubernetes.io/name: ingot
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "ingot.labels" -}}
{{ include "ingot.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Rules that values.schema.json cannot express: values that exclude or require each other. */}}
{{- define "ingot.check" -}}
{{- if and .Values.model.checkpoint .Values.model.engine }}
{{- fail "model.checkpoint and model.engine are both given: one is compiled, the other is compiled already; omit one of them" }}
{{- end }}
{{- if not (or .Values.model.checkpoint .Values.model.engine) }}
{{- fail "there is nothing to serve: give model.checkpoint (a path below /checkpoints, or hf:ORG/NAME) or model.engine" }}
{{- end }}
{{- if and .Values.model.engine (not .Values.storage.engines.claim) }}
{{- fail "model.engine is a file in a volume, but there is no volume: give storage.engines.claim" }}
{{- end }}
{{- if and .Values.model.checkpoint (not (hasPrefix "hf:" .Values.model.checkpoint)) (not .Values.storage.checkpoints.claim) }}
{{- fail (printf "model.checkpoint %s is a path of a volume, and there is none: give storage.checkpoints.claim" .Values.model.checkpoint) }}
{{- end }}
{{- if and (eq .Values.compile.where "job") .Values.model.checkpoint (not .Values.storage.engines.claim) }}
{{- fail "compile.where is job, whose engine the pods find in a shared volume: give storage.engines.claim, or compile.where=pod" }}
{{- end }}
{{- if not .Values.apiKeys.secret }}
{{- fail "apiKeys.secret is missing: ingot serve answers a network only with keys; kubectl create secret generic ingot-keys --from-literal=keys=$(openssl rand -hex 24), and apiKeys.secret=ingot-keys" }}
{{- end }}
{{- if gt (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas) }}
{{- fail (printf "autoscaling.minReplicas %d is more than maxReplicas %d" (int .Values.autoscaling.minReplicas) (int .Values.autoscaling.maxReplicas)) }}
{{- end }}
{{- end }}

{{- define "ingot.engine" -}}
/engines/{{ .Values.model.engine | default (printf "%s.ingot" .Values.model.name) }}
{{- end }}

{{- define "ingot.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "ingot.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "ingot.image" -}}
{{ .image.repository }}:{{ .image.tag | default .top.Chart.AppVersion }}
{{- end }}

{{/* Compiles into the volume, under a hash of the checkpoint's content; a second pod finds the engine there. The link
     is made when the engine is complete, and pods serve the link. */}}
{{- define "ingot.compileContainer" -}}
- name: compile
  image: {{ include "ingot.image" (dict "image" .Values.compilerImage "top" .) }}
  imagePullPolicy: {{ .Values.compilerImage.pullPolicy }}
  args:
    - compile
    - {{ if hasPrefix "hf:" .Values.model.checkpoint }}{{ .Values.model.checkpoint | quote }}{{ else }}{{ printf "/checkpoints/%s" (trimPrefix "/checkpoints/" .Values.model.checkpoint) | quote }}{{ end }}
    - --cache
    - /engines
    - --link
    - {{ include "ingot.engine" . }}
    {{- range .Values.compile.arguments }}
    - {{ . | quote }}
    {{- end }}
  env:
    - name: HF_HUB_CACHE
      value: /engines/hub
    {{- if .Values.compile.hubTokenSecret }}
    - name: HF_TOKEN
      valueFrom:
        secretKeyRef:
          name: {{ .Values.compile.hubTokenSecret }}
          key: HF_TOKEN
    {{- end }}
  resources:
    {{- toYaml .Values.compile.resources | nindent 4 }}
  securityContext:
    {{- include "ingot.containerSecurity" . | nindent 4 }}
  volumeMounts:
    {{- include "ingot.mounts" (dict "top" . "readOnly" false) | nindent 4 }}
{{- end }}

{{- define "ingot.mounts" -}}
- name: engines
  mountPath: /engines
  {{- if .top.Values.storage.engines.path }}
  subPath: {{ .top.Values.storage.engines.path }}
  {{- end }}
  readOnly: {{ .readOnly }}
- name: tmp
  mountPath: /tmp
{{- if and (not .readOnly) .top.Values.storage.checkpoints.claim }}
- name: checkpoints
  mountPath: /checkpoints
  {{- if .top.Values.storage.checkpoints.path }}
  subPath: {{ .top.Values.storage.checkpoints.path }}
  {{- end }}
  readOnly: true
{{- end }}
{{- end }}

{{- define "ingot.volumes" -}}
- name: engines
  {{- if .Values.storage.engines.claim }}
  persistentVolumeClaim:
    claimName: {{ .Values.storage.engines.claim }}
  {{- else }}
  emptyDir:
    sizeLimit: {{ .Values.storage.engines.sizeLimit }}
  {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 1Gi
{{- if .Values.storage.checkpoints.claim }}
- name: checkpoints
  persistentVolumeClaim:
    claimName: {{ .Values.storage.checkpoints.claim }}
    readOnly: true
{{- end }}
{{- end }}
