{{- define "gsimc.name" -}}
{{- $name := printf "%s-gsimc" .Release.Name -}}
{{- if contains "gsimc" .Release.Name }}{{ $name = .Release.Name }}{{ end -}}
{{- $name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "gsimc.selector" -}}
app.kubernetes.io/name: gsimc
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "gsimc.labels" -}}
{{ include "gsimc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "gsimc.image" -}}
{{- if and (eq .Chart.AppVersion "0.0.0") (not .Values.image.tag) -}}
{{- fail "a clone has no image of its own: set image.tag" -}}
{{- end -}}
"{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}"
{{- end }}

{{- define "gsimc.serviceAccount" -}}
{{- $usual := ternary (include "gsimc.name" .) "default" .Values.serviceAccount.create -}}
{{- default $usual .Values.serviceAccount.name | quote -}}
{{- end }}

{{- define "gsimc.models" -}}
{{- default (printf "%s-models" (include "gsimc.name" .)) .Values.models.existingClaim -}}
{{- end }}

{{- define "gsimc.ports" -}}
{{- $spoken := ternary "https" "kubernetes.io/h2c" (not (empty .Values.access.tlsSecret)) -}}
- {name: grpc, port: 50051, targetPort: grpc, appProtocol: {{ $spoken }}}
{{- if .Values.json.enabled }}
- {name: json, port: 8080, targetPort: json}
{{- end }}
{{- end }}

{{- /* What takes a pod to a node: the servers, and the test, which runs the same image. */ -}}
{{- define "gsimc.node" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Not empty if several servers share the store. */ -}}
{{- define "gsimc.shared" -}}
{{- if ne .Values.store "pebble" }}shared{{ end -}}
{{- end }}

{{- /* Name of the secret with the password that is mounted as a file; empty: none. */ -}}
{{- define "gsimc.storePassword" -}}
{{- if eq .Values.store "valkey" }}{{ .Values.valkey.passwordSecret }}{{ end -}}
{{- if eq .Values.store "postgres" }}{{ .Values.postgres.passwordSecret }}{{ end -}}
{{- end }}

{{- /* Name of the secret with the authorities of the store; empty: none. */ -}}
{{- define "gsimc.storeTLS" -}}
{{- if eq .Values.store "valkey" }}{{ .Values.valkey.tlsSecret }}{{ end -}}
{{- if eq .Values.store "postgres" }}{{ .Values.postgres.tlsSecret }}{{ end -}}
{{- end }}

{{- /* The value of --store. */ -}}
{{- define "gsimc.store" -}}
{{- if eq .Values.store "valkey" -}}
{{- $v := .Values.valkey -}}
valkey://{{ join "," $v.addresses }}/{{ $v.namespace }}?replicas={{ $v.replicas }}
{{- with $v.user }}&user={{ . | urlquery }}{{ end }}
{{- if $v.passwordSecret }}&password-file=/etc/gsimc/store/password{{ end }}
{{- if $v.tlsSecret }}&tls=on&tls-ca=/etc/gsimc/store-tls/ca.crt{{ end }}
{{- else -}}
{{- $p := .Values.postgres -}}
postgres://{{ $p.user }}@{{ join "," $p.addresses }}/{{ $p.database }}?target_session_attrs=read-write
{{- if $p.passwordSecret }}&password-file=/etc/gsimc/store/password{{ end }}
{{- if $p.tlsSecret }}&sslmode=verify-full&sslrootcert=/etc/gsimc/store-tls/ca.crt{{ end }}
{{- end -}}
{{- end }}
