{{- /* The template of the pod, of both kinds of stores. */ -}}
{{- define "gsimc.pod" -}}
metadata:
  labels:
    {{- include "gsimc.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    gsimc/config: {{ toYaml .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "gsimc.serviceAccount" . }}
  automountServiceAccountToken: false
  {{- include "gsimc.node" . | nindent 2 }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  # SIGTERM ends readiness, and calls are served for --drain-delay more; so no preStop hook has to
  # wait. Longer than --drain-delay plus --drain-timeout.
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- if include "gsimc.shared" . }}
  topologySpreadConstraints:
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "gsimc.selector" $ | nindent 10 }}
      # Servers of the version before, which are about to go, do not count.
      matchLabelKeys: [pod-template-hash]
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: gsimc
      image: {{ include "gsimc.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      env:
        {{- if include "gsimc.shared" . }}
        # The newest model of the folder, in place of the file that the image names.
        - {name: GSIMC_MODEL, value: ""}
        - {name: GSIMC_MODEL_DIR, value: /models}
        - {name: GSIMC_STORE, value: {{ include "gsimc.store" . | quote }}}
        {{- else }}
        - {name: GSIMC_MODEL, value: {{ printf "/models/%s" .Values.models.file | quote }}}
        - {name: GSIMC_DATA_DIR, value: /var/lib/gsimc}
        {{- end }}
        - {name: GSIMC_LISTEN, value: "0.0.0.0:50051"}
        - {name: GSIMC_OPS_LISTEN, value: "0.0.0.0:9090"}
        {{- if .Values.json.enabled }}
        - {name: GSIMC_JSON_LISTEN, value: "0.0.0.0:8080"}
        {{- end }}
        {{- if .Values.access.insecure }}
        - {name: GSIMC_INSECURE, value: "true"}
        {{- end }}
        {{- if .Values.access.tlsSecret }}
        - {name: GSIMC_TLS_CERT, value: /etc/gsimc/tls/tls.crt}
        - {name: GSIMC_TLS_KEY, value: /etc/gsimc/tls/tls.key}
        {{- end }}
        {{- if .Values.access.clientCertificates }}
        - {name: GSIMC_TLS_CLIENT_CA, value: /etc/gsimc/tls/ca.crt}
        {{- end }}
        {{- if .Values.access.tokenSecret }}
        - {name: GSIMC_TOKEN_FILE, value: /etc/gsimc/tokens/tokens}
        {{- end }}
        {{- if .Values.config }}
        - {name: GSIMC_CONFIG, value: /etc/gsimc/config/gsimc.yaml}
        {{- end }}
        {{- with .Values.goMemoryLimit }}
        - {name: GOMEMLIMIT, value: {{ . | quote }}}
        {{- end }}
      ports:
        - {name: grpc, containerPort: 50051}
        - {name: ops, containerPort: 9090}
        {{- if .Values.json.enabled }}
        - {name: json, containerPort: 8080}
        {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      startupProbe:
        httpGet: {path: /readyz, port: ops}
        failureThreshold: 60
        periodSeconds: 2
      readinessProbe:
        httpGet: {path: /readyz, port: ops}
        periodSeconds: 2
      livenessProbe:
        httpGet: {path: /livez, port: ops}
      volumeMounts:
        {{- if include "gsimc.shared" . }}
        - {name: models, mountPath: /models, readOnly: true}
        {{- else }}
        - {name: state, mountPath: /var/lib/gsimc}
        # Writable, for retrainings.
        - {name: models, mountPath: /models}
        {{- end }}
        {{- if include "gsimc.storePassword" . }}
        - {name: store, mountPath: /etc/gsimc/store, readOnly: true}
        {{- end }}
        {{- if include "gsimc.storeTLS" . }}
        - {name: store-tls, mountPath: /etc/gsimc/store-tls, readOnly: true}
        {{- end }}
        {{- if .Values.access.tlsSecret }}
        - {name: tls, mountPath: /etc/gsimc/tls, readOnly: true}
        {{- end }}
        {{- if .Values.access.tokenSecret }}
        - {name: tokens, mountPath: /etc/gsimc/tokens, readOnly: true}
        {{- end }}
        {{- if .Values.config }}
        - {name: config, mountPath: /etc/gsimc/config, readOnly: true}
        {{- end }}
  volumes:
    - name: models
      persistentVolumeClaim: {claimName: {{ include "gsimc.models" . | quote }}}
    {{- if .Values.access.tlsSecret }}
    - name: tls
      secret: {secretName: {{ .Values.access.tlsSecret | quote }}, defaultMode: 0440}
    {{- end }}
    {{- if .Values.access.tokenSecret }}
    - name: tokens
      secret: {secretName: {{ .Values.access.tokenSecret | quote }}, defaultMode: 0440}
    {{- end }}
    {{- with include "gsimc.storePassword" . }}
    - name: store
      secret:
        secretName: {{ . | quote }}
        defaultMode: 0440
        items: [{key: password, path: password}]
    {{- end }}
    {{- with include "gsimc.storeTLS" . }}
    - name: store-tls
      secret: {secretName: {{ . | quote }}, defaultMode: 0440}
    {{- end }}
    {{- if .Values.config }}
    - name: config
      configMap: {name: {{ include "gsimc.name" . }}}
    {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
